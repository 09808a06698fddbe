// sum, mean and max over one axis or all.
#include "ops/reduce.h"

#include "ops/elementwise_functors.h"
#include "ops/kernels.h"
#include "ops/largest.h"
#include "ops/sum_loops.h"

namespace reprise {

namespace {

namespace fn = functors;

// Attributes: axis, whether all axes, whether to keep them.
constexpr int kAxis = 0, kAll = 1, kKeep = 2;
const std::vector<AttrSpec> kReduceAttrs = {
    {"axis", AttrKind::integer}, {"all", AttrKind::flag}, {"keep", AttrKind::flag}};

int axis_of(const Attrs& attrs, const Shape& shape, const char* name) {
  return normalize_axis(attrs.integer(kAxis), shape.size(), name);
}

/// The operand's shape with the reduced axes at extent 1.
Shape kept_shape(const Attrs& attrs, const Shape& shape, const char* name) {
  Shape kept = shape;
  if (attrs.flag(kAll)) {
    for (int a = 0; a < kept.size(); ++a) kept[a] = 1;
  } else {
    kept[axis_of(attrs, shape, name)] = 1;
  }
  return kept;
}

Shape result_shape(const Attrs& attrs, const Shape& shape, const char* name) {
  Shape result = kept_shape(attrs, shape, name);
  if (attrs.flag(kKeep)) return result;
  if (attrs.flag(kAll)) return {};
  result.erase(axis_of(attrs, shape, name));
  return result;
}

/// Elements that make one result.
std::int64_t reduced_count(const Attrs& attrs, const Shape& shape, const char* name) {
  return attrs.flag(kAll) ? element_count(shape) : shape[axis_of(attrs, shape, name)];
}

/// A contiguous result or its gradient, seen with the reduced axes at extent 1.
TensorView with_kept_axes(const TensorView& view, const Shape& kept) {
  return {view.data, view.dtype, kept, contiguous_strides(kept)};
}

void infer_sum(InferContext& c) {
  require_float(c, 0);
  c.result(0, c.dtype(0), result_shape(c.attrs(), c.shape(0), c.op().name));
}

void require_some(const InferContext& c) {
  if (reduced_count(c.attrs(), c.shape(0), c.op().name) > 0) return;
  fail(ErrorKind::user, "[{}] expected at least one element to reduce, got shape {}", c.op().name,
       to_string(c.shape(0)));
}

void infer_mean(InferContext& c) {
  infer_sum(c);
  require_some(c);
}

double scale_of(const Op& op, const Attrs& attrs, const Shape& shape) {
  return &op == &kMean ? 1.0 / static_cast<double>(reduced_count(attrs, shape, op.name)) : 1.0;
}

void forward_sum(ForwardContext& c) {
  const TensorView& x = c.in(0);
  TensorView out = with_kept_axes(c.out(0), kept_shape(*c.attrs, x.shape, c.op->name));
  double scale = scale_of(*c.op, *c.attrs, x.shape);
  dispatch_float(x.dtype, [&]<class T>() { sum_elements<T, T>(fn::Copy{}, x.shape, out, scale, x); });
}

void backward_sum(BackwardContext& c) {
  const TensorView& to = c.grad(0);
  TensorView g = with_kept_axes(c.grad_out(0), kept_shape(*c.attrs, to.shape, c.op->name));
  double scale = scale_of(*c.op, *c.attrs, to.shape);
  dispatch_float(g.dtype, [&]<class T>() { map_elements<T, T>(fn::Scale<T>{T(scale)}, to, g); });
}

AxisSplit max_split(const Attrs& attrs, const Shape& shape) {
  if (attrs.flag(kAll)) return {1, element_count(shape), 1};
  return split_axis(shape, axis_of(attrs, shape, "max"));
}

void infer_max(InferContext& c) {
  infer_mean(c);
  c.result(1, DType::i64, result_shape(c.attrs(), c.shape(0), c.op().name));
}

void forward_max(ForwardContext& c) {
  const TensorView& x = c.in(0);
  dispatch_float(x.dtype, [&]<class T>() {
    for_each_largest(max_split(*c.attrs, x.shape), x.as<T>(), [&](std::int64_t line, T value, std::int64_t at) {
      c.out(0).as<T>()[line] = value;
      c.out(1).as<std::int64_t>()[line] = at;
    });
  });
}

void backward_max(BackwardContext& c) {
  const TensorView& to = c.grad(0);
  const TensorView& g = c.grad_out(0);
  const std::int64_t* at = c.out(1).as<std::int64_t>();
  AxisSplit s = max_split(*c.attrs, to.shape);
  if (!c.accumulates(0)) fill_zero(to);
  dispatch_float(g.dtype, [&]<class T>() {
    for (std::int64_t line = 0; line < s.outer * s.inner; ++line) {
      to.as<T>()[(line / s.inner * s.n + at[line]) * s.inner + line % s.inner] += g.as<T>()[line];
    }
  });
}

Value apply(Tape& tape, const Op& op, Arg x, std::int64_t axis, bool all, bool keep) {
  return tape.apply_one(op, {std::move(x)}, Attrs().add(axis).add(all).add(keep));
}

}  // namespace

const Op kSum{.name = "sum",
              .about = "sum over one axis or all",
              .inputs = {"x"},
              .outputs = {"out"},
              .attrs = kReduceAttrs,
              .saves = {{"x", {}}},
              .strided = true,
              .infer = infer_sum,
              .forward = forward_sum,
              .backward = backward_sum};

const Op kMean{.name = "mean",
               .about = "mean over one axis or all",
               .inputs = {"x"},
               .outputs = {"out"},
               .attrs = kReduceAttrs,
               .saves = {{"x", {}}},
               .strided = true,
               .infer = infer_mean,
               .forward = forward_sum,
               .backward = backward_sum};

const Op kMax{.name = "max",
              .about = "largest element over one axis or all; its gradient goes to the first maximum",
              .inputs = {"x"},
              .outputs = {"out"},
              .made = {"at"},
              .attrs = kReduceAttrs,
              .saves = {{"x", {made("at")}}},
              .accumulates = true,
              .fails_first = true,
              .infer = infer_max,
              .forward = forward_max,
              .backward = backward_max};

Value sum(Tape& tape, Arg x, bool keep) { return apply(tape, kSum, std::move(x), 0, true, keep); }
Value mean(Tape& tape, Arg x, bool keep) { return apply(tape, kMean, std::move(x), 0, true, keep); }
Value max(Tape& tape, Arg x, bool keep) { return apply(tape, kMax, std::move(x), 0, true, keep); }
Value sum_axis(Tape& tape, Arg x, std::int64_t axis, bool keep) {
  return apply(tape, kSum, std::move(x), axis, false, keep);
}
Value mean_axis(Tape& tape, Arg x, std::int64_t axis, bool keep) {
  return apply(tape, kMean, std::move(x), axis, false, keep);
}
Value max_axis(Tape& tape, Arg x, std::int64_t axis, bool keep) {
  return apply(tape, kMax, std::move(x), axis, false, keep);
}

void register_reduce_ops() {
  for (const Op* op : {&kSum, &kMean, &kMax}) register_op(*op);
}

}  // namespace reprise
