// The first largest element of each line of an axis: the kernel of max and argmax. A NaN counts as larger than any
// number, as in NumPy. Lines of the last axis are scanned one by one, others side by side, so that both vectorise.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"
#include "ops/kernels.h"

namespace reprise {

namespace loops {

constexpr std::int64_t kLargestTile = 64;  // lines side by side: their best elements and places stay in the first cache

/// Index of the first largest of n elements that lie next to each other.
template <class T>
std::int64_t first_largest(const T* x, std::int64_t n) {
  T best = x[0];
  int nan = 0;
#pragma omp simd reduction(max : best) reduction(| : nan)
  for (std::int64_t i = 0; i < n; ++i) {
    best = x[i] > best ? x[i] : best;
    nan |= x[i] != x[i];
  }
  std::int64_t at = 0;
  while (nan ? x[at] == x[at] : !(x[at] == best)) ++at;
  return at;
}

/// The same for `width` lines side by side, whose elements lie `stride` apart.
template <class T>
void first_largest_of_lines(const T* x, std::int64_t n, std::int64_t stride, std::int64_t width, std::int64_t* at) {
  T best[kLargestTile];
  std::copy_n(x, width, best);
  std::fill_n(at, width, 0);
  for (std::int64_t i = 1; i < n; ++i) {
    const T* row = x + i * stride;
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) {
      bool larger = row[j] > best[j] || (row[j] != row[j] && best[j] == best[j]);
      best[j] = larger ? row[j] : best[j];
      at[j] = larger ? i : at[j];
    }
  }
}

}  // namespace loops

/// Calls store(line, largest, its index) for each line of `x`, whose axis has s.n >= 1 elements.
template <class T, class Store>
void for_each_largest(const AxisSplit& s, const T* x, const Store& store) {
  std::int64_t width = std::min(s.inner, loops::kLargestTile);
  if (width == 0) return;
  std::int64_t tiles = (s.inner + width - 1) / width;
  parallel_blocks(s.outer * tiles, row_grain(s.n * width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tile = begin; tile < end; ++tile) {
      std::int64_t outer = tile / tiles, first = tile % tiles * width;
      const T* from = x + outer * s.n * s.inner + first;
      std::int64_t lines = std::min(width, s.inner - first);
      std::int64_t at[loops::kLargestTile];
      if (s.inner == 1) {
        at[0] = loops::first_largest(from, s.n);
      } else {
        loops::first_largest_of_lines(from, s.n, s.inner, lines, at);
      }
      for (std::int64_t j = 0; j < lines; ++j) store(outer * s.inner + first + j, from[at[j] * s.inner + j], at[j]);
    }
  });
}

}  // namespace reprise
