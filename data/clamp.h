// The smaller and larger of two numbers and clamps, for loops over pixels. Comparisons instead of fmin and fmax, whose
// rules for NaN keep the compiler from its minimum and maximum instructions.
#pragma once

namespace reprise::internal {

inline float smaller(float a, float b) { return a < b ? a : b; }
inline float larger(float a, float b) { return a > b ? a : b; }
inline float clamp_to(float v, float lo, float hi) { return smaller(larger(v, lo), hi); }

}  // namespace reprise::internal
