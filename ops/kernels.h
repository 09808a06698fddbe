// Small things that kernels and shape rules of this room share: dtype checks with the op's name, dispatch over the
// dtypes of arithmetic, and the shapes of reductions.
#pragma once

#include <cstdint>

#include "autograd/op.h"

namespace reprise {

/// dispatch_float with i64 too.
template <class F>
decltype(auto) dispatch_number(DType dtype, F&& f) {
  if (dtype == DType::i64) return f.template operator()<std::int64_t>();
  return dispatch_float(dtype, f);
}

/// dispatch_float with bf16 too: for gradients of values that are stored so.
template <class F>
decltype(auto) dispatch_gradient(DType dtype, F&& f) {
  if (dtype == DType::bf16) return f.template operator()<BFloat16>();
  return dispatch_float(dtype, f);
}

inline bool is_compute_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }
inline bool is_index(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }

/// Errors (user): operand `index` is neither f32 nor f64.
void require_float(const InferContext& c, int index);
/// The same, i64 allowed too.
void require_number(const InferContext& c, int index);
/// Errors (user): operand `index` is no list of indices (i64 or i32).
void require_index(const InferContext& c, int index);
/// Errors (user): operands a and b differ in dtype.
void require_same_dtype(const InferContext& c, int a, int b);
/// The dtype rule of most network ops. Errors (user): one of the first `count` operands is neither f32 nor f64, or
/// differs in dtype from the first.
void require_floats(const InferContext& c, int count);
/// Errors (user): operands a and b differ in shape.
void require_same_shape(const InferContext& c, int a, int b);
/// The broadcast of two operands' shapes. Errors (user) when they do not fit.
Shape require_broadcast(const InferContext& c, int a, int b);
/// Errors (user): operand `from` does not broadcast to `shape`, which stands for what `what` names.
void require_broadcasts_to(const InferContext& c, int from, const Shape& shape, const char* what);

/// A shape rule for one float operand and a result like it.
void infer_same_float(InferContext& c);

/// A shape taken as [outer, n, inner] around one axis.
struct AxisSplit {
  std::int64_t outer = 1, n = 1, inner = 1;
};
AxisSplit split_axis(const Shape& shape, int axis);

/// Part of `view` that starts at `start` along `axis` and has `extent` elements there, `step` apart.
TensorView part_of(const TensorView& view, int axis, std::int64_t start, std::int64_t extent, std::int64_t step = 1);

}  // namespace reprise
