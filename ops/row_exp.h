// Exponentials along one contiguous row: what softmax losses spend their time on. Called by one thread per row.
//
// Note: two builds of one body. On x86 the float kernels are compiled for AVX2 and for AVX-512 and the processor
// decides. Order of sums and rounding are the same in both, so the bits are.
#pragma once

#include <cstdint>

namespace reprise {

/// The sum of e^(x_i - shift).
template <class T>
T exp_sum(const T* x, std::int64_t n, T shift);

/// The same; x_i becomes e^(x_i - shift).
template <class T>
T exp_sum_in_place(T* x, std::int64_t n, T shift);

/// to_i (+)= e^(x_i - shift) * scale.
template <class T>
void exp_scaled(const T* x, std::int64_t n, T shift, T scale, T* to, bool accumulate);

}  // namespace reprise
