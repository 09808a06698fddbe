#include "ops/kernels.h"

namespace reprise {

void require_float(const InferContext& c, int index) {
  if (is_compute_float(c.dtype(index))) return;
  fail(ErrorKind::user, "[{}] expected f32 or f64, got {} for operand {}. Use cast first", c.op().name,
       to_string(c.dtype(index)), index);
}

void require_number(const InferContext& c, int index) {
  if (is_compute_float(c.dtype(index)) || c.dtype(index) == DType::i64) return;
  fail(ErrorKind::user, "[{}] expected f32, f64 or i64, got {} for operand {}. Use cast first", c.op().name,
       to_string(c.dtype(index)), index);
}

void require_index(const InferContext& c, int index) {
  if (is_index(c.dtype(index))) return;
  fail(ErrorKind::user, "[{}] expected i64 or i32 indices, got {} for operand {}. Use cast first", c.op().name,
       to_string(c.dtype(index)), index);
}

void require_same_dtype(const InferContext& c, int a, int b) {
  if (c.dtype(a) == c.dtype(b)) return;
  fail(ErrorKind::user, "[{}] expected operands of one dtype, got {} and {}. Use cast first", c.op().name,
       to_string(c.dtype(a)), to_string(c.dtype(b)));
}

void require_floats(const InferContext& c, int count) {
  require_float(c, 0);
  for (int i = 1; i < count; ++i) require_same_dtype(c, 0, i);
}

void require_same_shape(const InferContext& c, int a, int b) {
  if (c.shape(a) == c.shape(b)) return;
  fail(ErrorKind::user, "[{}] expected operands of one shape, got {} and {}", c.op().name, to_string(c.shape(a)),
       to_string(c.shape(b)));
}

Shape require_broadcast(const InferContext& c, int a, int b) {
  const Shape& first = c.shape(a);
  const Shape& second = c.shape(b);
  if (second.empty() || first == second) return first;
  Shape shape;
  if (broadcast_shapes(first, second, &shape)) return shape;
  fail(ErrorKind::user, "[{}] expected shapes that broadcast, got {} and {}", c.op().name, to_string(first),
       to_string(second));
}

void require_broadcasts_to(const InferContext& c, int from, const Shape& shape, const char* what) {
  Shape joined;
  if (broadcast_shapes(c.shape(from), shape, &joined) && joined == shape) return;
  fail(ErrorKind::user, "[{}] expected a value that broadcasts to {} {}, got {}", c.op().name, what, to_string(shape),
       to_string(c.shape(from)));
}

void infer_same_float(InferContext& c) {
  require_float(c, 0);
  c.result(0, c.dtype(0), c.shape(0));
}

AxisSplit split_axis(const Shape& shape, int axis) {
  AxisSplit split;
  for (int a = 0; a < axis; ++a) split.outer *= shape[a];
  split.n = shape[axis];
  for (int a = axis + 1; a < shape.size(); ++a) split.inner *= shape[a];
  return split;
}

TensorView part_of(const TensorView& view, int axis, std::int64_t start, std::int64_t extent, std::int64_t step) {
  TensorView part = view;
  if (part.data) part.data += start * view.strides[axis] * size_of(view.dtype);
  part.shape[axis] = extent;
  part.strides[axis] *= step;
  return part;
}

}  // namespace reprise
