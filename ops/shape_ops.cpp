// reshape, transpose, slice, concat, copy, stop_gradient. Views run no kernel; their gradients are put back in place.
#include "ops/shape_ops.h"

#include <algorithm>

#include "ops/broadcast.h"
#include "ops/elementwise_functors.h"
#include "ops/kernels.h"

namespace reprise {

namespace {

namespace fn = functors;

// to += from; floats of any type.
void add_elements(const TensorView& to, const TensorView& from) {
  if (to.dtype == DType::bf16) {
    auto add = [](BFloat16 a, BFloat16 b) { return BFloat16(static_cast<float>(a) + static_cast<float>(b)); };
    return map_elements<BFloat16, BFloat16, BFloat16>(add, to, to, from);
  }
  dispatch_float(to.dtype, [&]<class T>() { map_elements<T, T, T>(fn::Add{}, to, to, from); });
}

// ---- reshape, stop_gradient, copy
void infer_reshape(InferContext& c) {
  Shape shape = c.attrs().dims(0);
  for (std::int64_t d : shape) {
    if (d < 0) fail(ErrorKind::user, "[reshape] expected extents of at least 0, got {}", to_string(shape));
  }
  if (element_count(shape) != element_count(c.shape(0))) {
    fail(ErrorKind::user, "[reshape] expected a shape of {} elements for operand {}, got {}", element_count(c.shape(0)),
         to_string(c.shape(0)), to_string(shape));
  }
  c.view_result(shape, contiguous_strides(shape), 0);
}
// Element counts always agree, so the tape hands the gradient through and never asks.
void backward_pass(BackwardContext&) {}

void infer_same_view(InferContext& c) { c.view_result(c.shape(0), c.operand(0).strides, 0); }

void infer_copy(InferContext& c) { c.result(0, c.dtype(0), c.shape(0)); }
void forward_copy(ForwardContext& c) { copy_elements(c.out(0), c.in(0)); }

// ---- transpose
void infer_transpose(InferContext& c) {
  Dims order = c.attrs().dims(0);
  const Shape& shape = c.shape(0);
  bool seen[kMaxRank] = {};
  bool good = order.size() == shape.size();
  for (int i = 0; i < order.size() && good; ++i) {
    good = order[i] >= 0 && order[i] < shape.size() && !seen[order[i]];
    if (good) seen[order[i]] = true;
  }
  if (!good) {
    fail(ErrorKind::user, "[transpose] expected a permutation of the axes of {}, got {}", to_string(shape),
         to_string(order));
  }
  Shape out = shape;
  Strides strides = shape;
  for (int i = 0; i < order.size(); ++i) {
    out[i] = shape[static_cast<int>(order[i])];
    strides[i] = c.operand(0).strides[static_cast<int>(order[i])];
  }
  c.view_result(out, strides, 0);
}

void backward_transpose(BackwardContext& c) {
  Dims order = c.attrs->dims(0);
  const TensorView& g = c.grad_out(0);
  const TensorView& to = c.grad(0);
  TensorView permuted = {to.data, to.dtype, g.shape, g.strides};
  for (int i = 0; i < order.size(); ++i) permuted.strides[i] = to.strides[static_cast<int>(order[i])];
  copy_elements(permuted, g);
}

// ---- slice; the wrapper has brought start and stop into the extent
std::int64_t slice_extent(const Attrs& attrs) {
  std::int64_t start = attrs.integer(1), stop = attrs.integer(2), step = attrs.integer(3);
  return stop <= start ? 0 : (stop - start - 1) / step + 1;
}
/// The step as far as it matters: one beyond the extent meets no second element, and its product might overflow.
std::int64_t slice_step(const Attrs& attrs, std::int64_t extent) {
  return std::min(attrs.integer(3), std::max<std::int64_t>(1, extent));
}

void infer_slice(InferContext& c) {
  const Shape& shape = c.shape(0);
  std::int64_t axis = c.attrs().integer(0), start = c.attrs().integer(1), stop = c.attrs().integer(2);
  if (c.attrs().integer(3) < 1) {
    fail(ErrorKind::user, "[slice] expected a step of at least 1, got {}", c.attrs().integer(3));
  }
  if (axis < 0 || axis >= shape.size() || start < 0 || start > stop || stop > shape[static_cast<int>(axis)]) {
    fail(ErrorKind::user, "[slice] expected a range inside {}, got {}..{} of axis {}", to_string(shape), start, stop,
         axis);
  }
  int a = static_cast<int>(axis);
  Shape out = shape;
  Strides strides = c.operand(0).strides;
  out[a] = slice_extent(c.attrs());
  std::int64_t offset = out[a] == 0 ? 0 : start * strides[a];
  strides[a] *= slice_step(c.attrs(), shape[a]);
  c.view_result(out, strides, offset);
}

void backward_slice(BackwardContext& c) {
  const TensorView& g = c.grad_out(0);
  const TensorView& to = c.grad(0);
  int axis = static_cast<int>(c.attrs->integer(0));
  std::int64_t step = slice_step(*c.attrs, to.shape[axis]);
  TensorView part = part_of(to, axis, c.attrs->integer(1), slice_extent(*c.attrs), step);
  if (c.accumulates(0)) {
    if (g.size() > 0) add_elements(part, g);
  } else {
    fill_zero(to);
    if (g.size() > 0) copy_elements(part, g);
  }
}

// ---- concat
void infer_concat(InferContext& c) {
  int axis = normalize_axis(c.attrs().integer(0), c.shape(0).size(), "concat");
  Shape shape = c.shape(0);
  for (int i = 1; i < c.input_count(); ++i) {
    require_same_dtype(c, 0, i);
    Shape part = c.shape(i);
    bool fits = part.size() == shape.size();
    for (int a = 0; a < shape.size() && fits; ++a) fits = a == axis || part[a] == shape[a];
    if (!fits) {
      fail(ErrorKind::user, "[concat] expected shapes that differ along axis {} only, got {} and {}", axis,
           to_string(c.shape(0)), to_string(part));
    }
    shape[axis] += part[axis];
  }
  c.result(0, c.dtype(0), shape);
}

// Calls body(part of whole, i) for each input.
template <class ExtentOf, class Body>
void for_each_part(const TensorView& whole, const Attrs& attrs, int inputs, const ExtentOf& extent_of,
                   const Body& body) {
  int axis = normalize_axis(attrs.integer(0), whole.shape.size(), "concat");
  std::int64_t at = 0;
  for (int i = 0; i < inputs; ++i) {
    std::int64_t extent = extent_of(i, axis);
    body(part_of(whole, axis, at, extent), i);
    at += extent;
  }
}

void forward_concat(ForwardContext& c) {
  for_each_part(
      c.out(0), *c.attrs, c.inputs, [&](int i, int axis) { return c.in(i).shape[axis]; },
      [&](const TensorView& part, int i) { copy_elements(part, c.in(i)); });
}

void backward_concat(BackwardContext& c) {
  for_each_part(
      c.grad_out(0), *c.attrs, c.inputs, [&](int i, int axis) { return c.operand_shape(i).shape[axis]; },
      [&](const TensorView& part, int i) {
        if (c.wants(i)) copy_elements(c.grad(i), part);
      });
}

// Python's rule: negative counts from the end, then cut to the extent.
std::int64_t slice_bound(std::int64_t bound, std::int64_t extent) {
  return std::clamp<std::int64_t>(bound < 0 ? bound + extent : bound, 0, extent);
}

}  // namespace

const Op kReshape{.name = "reshape",
                  .about = "the same elements with another shape; a view",
                  .inputs = {"x"},
                  .outputs = {"out"},
                  .attrs = {{"shape", AttrKind::dims}},
                  .saves = {{"x", {}}},
                  .passes = {{"out", "x"}},
                  .view = true,
                  .infer = infer_reshape,
                  .backward = backward_pass};

const Op kTranspose{.name = "transpose",
                    .about = "axes in another order; a view",
                    .inputs = {"x"},
                    .outputs = {"out"},
                    .attrs = {{"order", AttrKind::dims}},
                    .saves = {{"x", {}}},
                    .strided = true,
                    .view = true,
                    .infer = infer_transpose,
                    .backward = backward_transpose};

const Op kSlice{.name = "slice",
                .about = "elements start, start + step, ... of one axis; a view",
                .inputs = {"x"},
                .outputs = {"out"},
                .attrs = {{"axis", AttrKind::integer},
                          {"start", AttrKind::integer},
                          {"stop", AttrKind::integer},
                          {"step", AttrKind::integer}},
                .saves = {{"x", {}}},
                .strided = true,
                .view = true,
                .accumulates = true,
                .fails_first = true,
                .infer = infer_slice,
                .backward = backward_slice};

const Op kConcat{.name = "concat",
                 .about = "operands joined along one axis",
                 .inputs = {"parts"},
                 .outputs = {"out"},
                 .attrs = {{"axis", AttrKind::integer}},
                 .saves = {{"parts", {}}},
                 .variadic = true,
                 .strided = true,
                 .infer = infer_concat,
                 .forward = forward_concat,
                 .backward = backward_concat};

const Op kCopy{.name = "copy",
               .about = "the same numbers in new contiguous bytes",
               .inputs = {"x"},
               .outputs = {"out"},
               .saves = {{"x", {}}},
               .passes = {{"out", "x"}},
               .strided = true,
               .copies = true,
               .infer = infer_copy,
               .forward = forward_copy,
               .backward = backward_pass};

const Op kStopGradient{.name = "stop_gradient",
                       .about = "the same bytes as a constant; a view",
                       .inputs = {"x"},
                       .outputs = {"out"},
                       .strided = true,
                       .view = true,
                       .infer = infer_same_view};

Value reshape(Tape& tape, Arg x, Shape shape) {
  std::int64_t known = 1;
  bool over = false;
  int unknown = -1;
  for (int a = 0; a < shape.size(); ++a) {
    if (shape[a] == -1 && unknown < 0) {
      unknown = a;
    } else {
      over |= __builtin_mul_overflow(known, shape[a], &known);
    }
  }
  if (unknown >= 0 && known > 0 && !over) shape[unknown] = element_count(x.shape()) / known;
  return tape.apply_one(kReshape, {std::move(x)}, Attrs().add(shape));
}

Value transpose(Tape& tape, Arg x, const Dims& order) {
  return tape.apply_one(kTranspose, {std::move(x)}, Attrs().add(order));
}

Value transpose(Tape& tape, Arg x) {
  Dims order = x.shape();
  int rank = order.size();
  if (rank < 2) fail(ErrorKind::user, "[transpose] expected at least two axes, got {}", to_string(order));
  for (int a = 0; a < rank; ++a) order[a] = a;
  std::swap(order[rank - 1], order[rank - 2]);
  return transpose(tape, std::move(x), order);
}

Value slice(Tape& tape, Arg x, std::int64_t axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  Shape shape = x.shape();
  int a = normalize_axis(axis, shape.size(), "slice");
  start = slice_bound(start, shape[a]);
  stop = std::max(start, slice_bound(stop, shape[a]));
  return tape.apply_one(kSlice, {std::move(x)}, Attrs().add(a).add(start).add(stop).add(step));
}

Value concat(Tape& tape, std::span<const Arg> parts, std::int64_t axis) {
  if (parts.empty() || parts.size() > kMaxOperands) {
    fail(ErrorKind::user, "[concat] expected 1 to {} operands, got {}", kMaxOperands, parts.size());
  }
  return std::move(tape.apply_n<1>(kConcat, parts, Attrs().add(axis))[0]);
}

Value copy(Tape& tape, Arg x) { return tape.apply_one(kCopy, {std::move(x)}); }
Value stop_gradient(Tape& tape, Arg x) { return tape.apply_one(kStopGradient, {std::move(x)}); }

void register_shape_ops() {
  for (const Op* op : {&kReshape, &kTranspose, &kSlice, &kConcat, &kCopy, &kStopGradient}) register_op(*op);
}

}  // namespace reprise
