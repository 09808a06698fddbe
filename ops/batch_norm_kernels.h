// Kernels of batch normalisation over [rows, channels]: statistics, normalisation, and both halves of the gradient.
// Called by ops/batch_norm.cpp only; f32 and f64.
//
// Note: fixed blocks. Rows are cut into blocks by a rule that knows sizes only (RowBlocks). A block's sums are taken in
// its own type over pieces that fit the first cache, pieces and blocks are combined in double, in order. So the bits do
// not depend on the number of threads, and the variance does not suffer from a mean far from zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reprise::norm_kernels {

struct Sizes {
  std::int64_t rows = 0, channels = 0;
};

/// Bytes of workspace for the functions below.
std::int64_t statistics_workspace(const Sizes& sizes, std::int64_t item_bytes);
std::int64_t apply_workspace(const Sizes& sizes, std::int64_t item_bytes);
std::int64_t backward_workspace(const Sizes& sizes, std::int64_t item_bytes);

/// The mean and the biased variance of each channel.
template <class T>
void statistics(const Sizes& sizes, const T* x, double* mean, double* variance, std::byte* workspace);

/// y = (x - mean) * scale + shift (+ residual), then relu if asked. residual may be null. y may be x or residual.
template <class T>
struct Apply {
  const T* x = nullptr;
  const T* residual = nullptr;
  const T* mean = nullptr;
  const T* scale = nullptr;
  const T* shift = nullptr;
  T* y = nullptr;
  bool relu = false;
};
template <class T>
void apply(const Sizes& sizes, const Apply<T>& call, std::byte* workspace);

/// With g = dy, or where `out` is given g = dy where out > 0 and else 0:
/// sum_g = sum of g, sum_gx = sum of g * (x - mean); and residual_grad (+)= g where it is given (may be dy itself).
template <class T>
struct Reduce {
  const T* dy = nullptr;
  const T* out = nullptr;  // null: no relu
  const T* x = nullptr;    // null: sum_gx is not made
  const T* mean = nullptr;
  T* residual_grad = nullptr;
  bool accumulate_residual = false;
  double* sum_g = nullptr;
  double* sum_gx = nullptr;
};
template <class T>
void reduce(const Sizes& sizes, const Reduce<T>& call, std::byte* workspace);

/// dx (+)= scale * (g - from_g - (x - mean) * from_gx), g as above. dx may be dy or x. x null: dx (+)= scale * g.
template <class T>
struct Gradient {
  const T* dy = nullptr;
  const T* out = nullptr;
  const T* x = nullptr;
  const T* mean = nullptr;
  const T* scale = nullptr;
  const T* from_g = nullptr;
  const T* from_gx = nullptr;
  T* dx = nullptr;
  bool accumulate = false;
};
template <class T>
void gradient(const Sizes& sizes, const Gradient<T>& call, std::byte* workspace);

}  // namespace reprise::norm_kernels
