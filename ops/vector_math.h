// exp, tanh and sigmoid as branch-free float polynomials that compilers turn into vector code, correct to about 1 ulp;
// doubles use the standard library. Called by functor bodies (ops/elementwise_functors.h) and softmax; compiles for
// CUDA.
//
// Coefficients and range reduction: Moshier, Cephes (expf, tanhf).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/device_seam.h"

namespace reprise::math {

/// e^x; overflows to infinity, underflows through subnormal numbers to 0, NaN stays NaN.
REPRISE_HOST_DEVICE inline float exp(float x) {
  // Beyond these ends e^x is infinity or 0 anyway; within them n stays in range.
  x = x > 89.5f ? 89.5f : x;
  x = x < -110.0f ? -110.0f : x;
  // Adding 1.5 * 2^23 leaves round(x / ln 2) in the low bits of the sum: no conversion that NaN would upset.
  constexpr float kMagic = 12582912.0f;
  float shifted = x * 1.44269504088896341f + kMagic;
  std::int32_t n = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) - 0x4B400000u);  // bits of kMagic
  float k = shifted - kMagic;
  // x - k ln 2 in two steps (Cody and Waite): the first factor has few bits, so that k times it is exact.
  float r = x - k * 0.693359375f;
  r = r - k * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  float y = p * (r * r) + r + 1.0f;
  // 2^n in two factors, so that results beyond the normal range come out right.
  std::int32_t half = n >> 1;
  float low = std::bit_cast<float>(static_cast<std::uint32_t>(half + 127) << 23);
  float high = std::bit_cast<float>(static_cast<std::uint32_t>(n - half + 127) << 23);
  return y * low * high;
}
REPRISE_HOST_DEVICE inline double exp(double x) { return std::exp(x); }

REPRISE_HOST_DEVICE inline float tanh(float x) {
  float a = std::fabs(x);
  float far = 1.0f - 2.0f / (math::exp(2.0f * a) + 1.0f);
  float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  float near = p * z * x + x;
  return a < 0.625f ? near : std::copysign(far, x);
}
REPRISE_HOST_DEVICE inline double tanh(double x) { return std::tanh(x); }

template <class T>
REPRISE_HOST_DEVICE inline T sigmoid(T x) {
  return T(1) / (T(1) + math::exp(-x));
}

}  // namespace reprise::math
