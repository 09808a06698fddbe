// assign_rows, add_rows, mul_rows: writes by an index list. Operands: value, rows, and the target as update.
#include "ops/row_state.h"

#include "ops/arithmetic.h"
#include "ops/broadcast.h"
#include "ops/elementwise_functors.h"
#include "ops/kernels.h"
#include "ops/operands.h"
#include "ops/row_index.h"
#include "ops/rows.h"
#include "ops/sum_loops.h"

namespace reprise {

namespace {

namespace fn = functors;

constexpr int kValue = 0, kRows = 1, kTo = 2;

/// The value's full shape: that of the index list, then that of a row.
Shape full_shape(const Shape& rows, const Shape& to) { return join(rows, rest_of(to)); }

void infer_assign(InferContext& c) {
  require_index(c, kRows);
  require_same_dtype(c, kValue, kTo);
  if (c.shape(kTo).empty()) fail(ErrorKind::user, "[{}] expected a target with at least one axis, got []", c.op().name);
  require_joinable(c, c.shape(kRows), rest_of(c.shape(kTo)));
  Shape full = full_shape(c.shape(kRows), c.shape(kTo));
  require_broadcasts_to(c, kValue, full, "the rows' shape");
  std::int64_t list = round_up_64(row_list_bytes(element_count(c.shape(kRows))));
  // The backward gathers into scratch where the value was broadcast, to sum it up from there.
  bool broadcast = !(c.shape(kValue) == full);
  c.workspace(list, list + (broadcast ? element_count(full) * size_of(c.dtype(kTo)) : 0));
}
void infer_number(InferContext& c) {
  require_number(c, kTo);
  infer_assign(c);
}

Region region(const RegionContext& c, int index) {
  return index == kTo ? rows_region(c, kTo, kRows, c.attrs().flag(0), true) : c.operand(index).region();
}

/// Calls body(row of `to`, its row of `values`) for each listed row. Rows are distinct, so threads share them out.
/// `values` has the full shape; its row i is found through the axes of the index list.
template <class Body>
void for_each_row(const TensorView& to, const TensorView& values, const std::int64_t* rows, std::int64_t count,
                  const Body& body) {
  int lead = values.shape.size() - (to.shape.size() - 1);
  Shape rest = rest_of(to.shape);
  Strides rest_strides = rest;
  for (int a = 0; a < rest.size(); ++a) rest_strides[a] = values.strides[lead + a];
  parallel_blocks(count, row_grain(element_count(rest)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t offset = 0, flat = i;
      for (int a = lead - 1; a >= 0; --a) {
        offset += flat % values.shape[a] * values.strides[a];
        flat /= values.shape[a];
      }
      body(row_of(to, rows[i]),
           TensorView{values.data + offset * size_of(values.dtype), values.dtype, rest, rest_strides});
    }
  });
}

enum class Mode { assign, add, mul };

template <Mode mode>
void forward(ForwardContext& c) {
  auto* rows = reinterpret_cast<std::int64_t*>(c.workspace);
  const TensorView& to = c.update(0);
  resolve_rows(*c.op, c.in(kRows), to.shape[0], c.attrs->flag(0), rows);
  TensorView values = broadcast_view(c.in(kValue), full_shape(c.in(kRows).shape, to.shape));
  for_each_row(to, values, rows, c.in(kRows).size(), [](const TensorView& row, const TensorView& value) {
    if constexpr (mode == Mode::assign) {
      copy_elements(row, value);
    } else {
      using F = std::conditional_t<mode == Mode::add, fn::Add, fn::Mul>;
      dispatch_number(row.dtype, [&]<class T>() {
        using G = std::conditional_t<std::is_floating_point_v<T>, F, fn::Wrapping<F>>;
        map_elements<T, T, T>(G{}, row, row, value);
      });
    }
  });
}

void multiply(const TensorView& to, const TensorView& by) {
  dispatch_float(to.dtype, [&]<class T>() { map_elements<T, T, T>(fn::Mul{}, to, to, by); });
}

// The value's gradient: the listed rows of g, times the old rows where it was a factor, summed to the value's shape.
template <Mode mode>
void backward_value(BackwardContext& c, const TensorView& g, const std::int64_t* rows, std::int64_t count) {
  const TensorView& grad = c.grad(kValue);
  TensorView full = {grad.data, g.dtype, full_shape(c.in(kRows).shape, g.shape), {}};
  full.strides = contiguous_strides(full.shape);
  bool broadcast = !(grad.shape == full.shape);
  if (broadcast) full.data = c.workspace + round_up_64(row_list_bytes(count));
  for_each_row(g, full, rows, count, [](const TensorView& from, const TensorView& to) { copy_elements(to, from); });
  if constexpr (mode == Mode::mul) {
    for_each_row(c.old(0), full, rows, count, [](const TensorView& old, const TensorView& to) { multiply(to, old); });
  }
  if (broadcast) sum_to_operand(full, grad);
}

// The target's gradient: g, with the listed rows 0 (assign) or times the value (mul).
template <Mode mode>
void backward_to(BackwardContext& c, const TensorView& g, const std::int64_t* rows, std::int64_t count) {
  if constexpr (mode != Mode::add) {  // handed through
    const TensorView& grad = c.grad(kTo);
    copy_elements(grad, g);
    if constexpr (mode == Mode::assign) {
      for (std::int64_t i = 0; i < count; ++i) fill_zero(row_of(grad, rows[i]));
    } else {
      TensorView values = broadcast_view(c.in(kValue), full_shape(c.in(kRows).shape, g.shape));
      for_each_row(grad, values, rows, count, [](const TensorView& to, const TensorView& by) { multiply(to, by); });
    }
  }
}

template <Mode mode>
void backward(BackwardContext& c) {
  const TensorView& g = c.grad_updated(0);
  auto* rows = reinterpret_cast<std::int64_t*>(c.workspace);
  std::int64_t count = 0;
  if (c.wants(kValue) || mode != Mode::add) {
    count = c.in(kRows).size();
    resolve_rows(*c.op, c.in(kRows), g.shape[0], c.attrs->flag(0), rows);
  }
  if (c.wants(kValue)) backward_value<mode>(c, g, rows, count);
  if (c.wants(kTo)) backward_to<mode>(c, g, rows, count);
}

void apply(Tape& tape, const Op& op, Arg to, Arg rows, Arg value, bool wrap) {
  DType dtype = to.dtype();
  Arg ready = as_dtype(tape, std::move(value), dtype);
  tape.apply_none(op, {std::move(ready), std::move(rows), std::move(to)}, Attrs().add(wrap));
}

}  // namespace

const Op kAssignRows{.name = "assign_rows",
                     .about = "the listed rows of the target become the value's rows",
                     .inputs = {"value", "rows"},
                     .updates = {"to"},
                     .attrs = {{"wrap", AttrKind::flag}},
                     .saves = {{"value", {in("rows")}}, {"to", {in("rows")}}},
                     .strided = true,
                     .infer = infer_assign,
                     .forward = forward<Mode::assign>,
                     .backward = backward<Mode::assign>,
                     .region = region};

const Op kAddRows{.name = "add_rows",
                  .about = "the value's rows are added to the listed rows of the target",
                  .inputs = {"value", "rows"},
                  .updates = {"to"},
                  .attrs = {{"wrap", AttrKind::flag}},
                  .saves = {{"value", {in("rows")}}, {"to", {}}},
                  .passes = {{"to", "to"}},
                  .strided = true,
                  .infer = infer_number,
                  .forward = forward<Mode::add>,
                  .backward = backward<Mode::add>,
                  .region = region};

const Op kMulRows{.name = "mul_rows",
                  .about = "the listed rows of the target are multiplied by the value's rows",
                  .inputs = {"value", "rows"},
                  .updates = {"to"},
                  .attrs = {{"wrap", AttrKind::flag}},
                  .saves = {{"value", {in("rows"), old("to")}}, {"to", {in("value"), in("rows")}}},
                  .strided = true,
                  .infer = infer_number,
                  .forward = forward<Mode::mul>,
                  .backward = backward<Mode::mul>,
                  .region = region};

void assign_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap) {
  apply(tape, kAssignRows, std::move(to), std::move(rows), std::move(value), wrap);
}

// As in ops/state.cpp: an integer target meets a number that is not whole as a double, and the result is truncated.
void add_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap) {
  if (!is_floating(to.dtype()) && is_fractional(value)) {
    Arg old = as_dtype(tape, gather_rows(tape, to, rows, wrap), DType::f64);
    value = add(tape, std::move(old), as_dtype(tape, std::move(value), DType::f64));
    return assign_rows(tape, std::move(to), std::move(rows), std::move(value), wrap);
  }
  apply(tape, kAddRows, std::move(to), std::move(rows), std::move(value), wrap);
}
void mul_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap) {
  if (!is_floating(to.dtype()) && is_fractional(value)) {
    Arg old = as_dtype(tape, gather_rows(tape, to, rows, wrap), DType::f64);
    value = mul(tape, std::move(old), as_dtype(tape, std::move(value), DType::f64));
    return assign_rows(tape, std::move(to), std::move(rows), std::move(value), wrap);
  }
  apply(tape, kMulRows, std::move(to), std::move(rows), std::move(value), wrap);
}

void register_row_state_ops() {
  for (const Op* op : {&kAssignRows, &kAddRows, &kMulRows}) register_op(*op);
}

}  // namespace reprise
