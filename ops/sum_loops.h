// Sums over axes of a function of broadcast operands: the kernel of sum and mean, and of every gradient that is reduced
// to the shape of a broadcast operand. Header for kernels of this room.
//
// Note: order of the sum. Elements are added in their own type over short fixed stretches, these in double in index
// order. Stretches depend on shapes and strides only, so any number of threads gives the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/broadcast.h"

namespace reprise {

namespace loops {

constexpr std::int64_t kSumTile = 128;     // results side by side, when the innermost axis is kept
constexpr std::int64_t kSumStretch = 256;  // elements that are added in their own type
constexpr std::int64_t kRowStretch = 64;   // rows that are added in their own type, one after another

/// The sum of f over one run.
template <class T, class F, class... In>
double sum_kernel(const void* functor, const RunInputs& in, std::int64_t n) {
  const F& f = *static_cast<const F*>(functor);
  double total = 0;
  with_readers<In...>(in, [&](auto... r) {
    std::int64_t i = 0;
    for (; i + 4 * kSumStretch <= n; i += 4 * kSumStretch) {
      T a = 0, b = 0, c = 0, d = 0;  // four at once hide the latency of the additions
#pragma omp simd reduction(+ : a, b, c, d)
      for (std::int64_t j = i; j < i + kSumStretch; ++j) {
        a += f(r(j)...);
        b += f(r(j + kSumStretch)...);
        c += f(r(j + 2 * kSumStretch)...);
        d += f(r(j + 3 * kSumStretch)...);
      }
      total += (static_cast<double>(a) + b) + (static_cast<double>(c) + d);
    }
    while (i < n) {
      std::int64_t end = std::min(n, i + kSumStretch);
      T a = 0;
#pragma omp simd reduction(+ : a)
      for (std::int64_t j = i; j < end; ++j) a += f(r(j)...);
      total += static_cast<double>(a);
      i = end;
    }
  });
  return total;
}

/// sums[i] += f(in(i)...) for `rows` rows whose inputs lie row_stride apart, one row after another.
template <class T, class F, class... In>
void add_kernel(const void* functor, void* sums, const RunInputs& in, const std::int64_t* row_stride, std::int64_t rows,
                std::int64_t n) {
  const F& f = *static_cast<const F*>(functor);
  T* to = static_cast<T*>(sums);
  RunInputs row = in;
  constexpr std::int64_t kBytes[] = {static_cast<std::int64_t>(sizeof(In))...};
  for (std::int64_t r = 0; r < rows; ++r) {
    with_readers<In...>(row, [&](auto... read) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) to[i] += f(read(i)...);
    });
    for (std::size_t k = 0; k < sizeof...(In); ++k) row.data[k] += row_stride[k] * kBytes[k];
  }
}

struct SumKernels {
  double (*sum)(const void* functor, const RunInputs& in, std::int64_t n);
  void (*add)(const void* functor, void* sums, const RunInputs& in, const std::int64_t* row_stride, std::int64_t rows,
              std::int64_t n);
  const void* functor;
};

/// Plans the loops over `shape` and runs the kernels; `out` (f32, f64, or bf16 with kernels that add floats) is smaller
/// than `shape`.
void run_sum(const SumKernels& kernels, const Shape& shape, const TensorView& out, double scale,
             const TensorView* const* in, int count);

}  // namespace loops

/// out = scale * (sum of f(in...) over the axes of `shape` that out is broadcast along); out is contiguous, of type T.
/// The inputs broadcast to `shape`. Where nothing is summed, out may take over the memory of an input.
template <class T, class... In, class F, class... Views>
void sum_elements(const F& f, const Shape& shape, const TensorView& out, double scale, const Views&... in) {
  if (out.size() == element_count(shape)) {
    TensorView flat = {out.data, out.dtype, shape, contiguous_strides(shape)};
    if (scale == 1.0) return map_elements<T, In...>(f, flat, in...);
    auto scaled = [&f, factor = static_cast<T>(scale)](auto... x) { return static_cast<T>(f(x...) * factor); };
    return map_elements<T, In...>(scaled, flat, in...);
  }
  const TensorView* views[] = {&in...};
  loops::SumKernels kernels{&loops::sum_kernel<T, F, In...>, &loops::add_kernel<T, F, In...>, &f};
  loops::run_sum(kernels, shape, out, scale, views, static_cast<int>(sizeof...(In)));
}

/// The gradient of an operand that was broadcast and nothing else: g, summed to the shape of `to`. f32, f64, or bf16
/// (whose terms are added as floats).
void sum_to_operand(const TensorView& g, const TensorView& to);

}  // namespace reprise
