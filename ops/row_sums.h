// Sums and maxima along one contiguous row in a fixed number of interleaved parts, combined in a fixed order: vector
// code without a licence to reorder sums, and the same bits every time. For kernels of this room.
#pragma once

#include <cstdint>
#include <limits>

namespace reprise {

constexpr int kRowParts = 32;

/// The sum of f(0) .. f(n - 1) in type T.
template <class T, class F>
inline T row_sum(std::int64_t n, const F& f) {
  T parts[kRowParts] = {};
  std::int64_t i = 0;
  for (; i + kRowParts <= n; i += kRowParts) {
#pragma omp simd
    for (int j = 0; j < kRowParts; ++j) parts[j] += f(i + j);
  }
  for (int j = 0; i < n; ++i, ++j) parts[j] += f(i);
  for (int step = kRowParts / 2; step > 0; step /= 2) {
    for (int j = 0; j < step; ++j) parts[j] += parts[j + step];
  }
  return parts[0];
}

/// The largest of x[0 .. n); minus infinity for an empty row. NaN is passed over.
template <class T>
inline T row_max(const T* x, std::int64_t n) {
  T parts[kRowParts];
  for (T& part : parts) part = -std::numeric_limits<T>::infinity();
  std::int64_t i = 0;
  for (; i + kRowParts <= n; i += kRowParts) {
#pragma omp simd
    for (int j = 0; j < kRowParts; ++j) parts[j] = x[i + j] > parts[j] ? x[i + j] : parts[j];
  }
  for (int j = 0; i < n; ++i, ++j) parts[j] = x[i] > parts[j] ? x[i] : parts[j];
  for (int j = 1; j < kRowParts; ++j) parts[0] = parts[j] > parts[0] ? parts[j] : parts[0];
  return parts[0];
}

}  // namespace reprise
