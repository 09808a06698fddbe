// assign, add_into, mul_into, averages and counters. A value that shares bytes with the target has been copied by the
// tape before a kernel here runs.
#include "ops/state.h"

#include "ops/arithmetic.h"
#include "ops/elementwise_functors.h"
#include "ops/kernels.h"
#include "ops/operands.h"
#include "ops/sum_loops.h"

namespace reprise {

namespace {

namespace fn = functors;

constexpr int kValue = 0, kTo = 1;  // operands

// ---- assign, add_into, mul_into
void infer_assign(InferContext& c) {
  require_same_dtype(c, kValue, kTo);
  require_broadcasts_to(c, kValue, c.shape(kTo), "the target's shape");
}
void infer_number(InferContext& c) {
  require_number(c, kTo);
  infer_assign(c);
}

void forward_assign(ForwardContext& c) { copy_elements(c.update(0), c.in(kValue)); }

template <class F, class Integer = fn::Wrapping<F>>
void forward_in_place(ForwardContext& c) {
  const TensorView& to = c.update(0);
  dispatch_number(to.dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      map_elements<T, T, T>(F{}, to, to, c.in(kValue));
    } else {
      map_elements<T, T, T>(Integer{}, to, to, c.in(kValue));
    }
  });
}

// The gradient of a value that was broadcast to the target: summed over the axes it was broadcast along.
void sum_to_value(BackwardContext& c) {
  if (!c.wants(kValue)) return;
  sum_to_operand(c.grad_updated(0), c.grad(kValue));
}

void backward_mul(BackwardContext& c) {
  const TensorView& g = c.grad_updated(0);
  dispatch_float(g.dtype, [&]<class T>() {
    if (c.wants(kValue)) sum_elements<T, T, T>(fn::Mul{}, g.shape, c.grad(kValue), 1.0, g, c.old(0));
    if (c.wants(kTo)) map_elements<T, T, T>(fn::Mul{}, c.grad(kTo), g, c.in(kValue));
  });
}

// ---- averages: the first attribute weighs the old bytes in ema_update, the new ones in running_update
void infer_average(InferContext& c) {
  require_float(c, kTo);
  require_same_dtype(c, kValue, kTo);
  require_same_shape(c, kValue, kTo);
}

double keep_of(const Op& op, const Attrs& attrs) { return &op == &kEmaUpdate ? attrs.real(0) : 1.0 - attrs.real(0); }
double take_of(const Op& op, const Attrs& attrs) { return &op == &kEmaUpdate ? 1.0 - attrs.real(0) : attrs.real(0); }

void forward_average(ForwardContext& c) {
  const TensorView& to = c.update(0);
  dispatch_float(to.dtype, [&]<class T>() {
    fn::Blend<T> blend{static_cast<T>(keep_of(*c.op, *c.attrs)), static_cast<T>(take_of(*c.op, *c.attrs))};
    map_elements<T, T, T>(blend, to, to, c.in(kValue));
  });
}

void backward_average(BackwardContext& c) {
  const TensorView& g = c.grad_updated(0);
  dispatch_float(g.dtype, [&]<class T>() {
    auto scaled = [&](int index, double factor) {
      if (c.wants(index)) map_elements<T, T>(fn::Scale<T>{static_cast<T>(factor)}, c.grad(index), g);
    };
    scaled(kValue, take_of(*c.op, *c.attrs));
    scaled(kTo, keep_of(*c.op, *c.attrs));
  });
}

// ---- counters
struct CountUp {
  std::int64_t amount, modulo;
  std::int64_t operator()(std::int64_t x) const {
    std::int64_t sum = fn::Wrapping<fn::Add>{}(x, amount);
    return modulo == 0 ? sum : fn::Mod{}(sum, modulo);
  }
};

void infer_counter(InferContext& c) {
  if (c.dtype(0) != DType::i64) {
    fail(ErrorKind::user, "[counter_add] expected an i64 counter, got {}", to_string(c.dtype(0)));
  }
  if (c.attrs().integer(1) < 0) {
    fail(ErrorKind::user, "[counter_add] expected a modulo of at least 0, got {}", c.attrs().integer(1));
  }
}

void forward_counter(ForwardContext& c) {
  CountUp up{c.attrs->integer(0), c.attrs->integer(1)};
  map_elements<std::int64_t, std::int64_t>(up, c.update(0), c.update(0));
}

void apply(Tape& tape, const Op& op, Arg to, Arg value, const Attrs& attrs = {}) {
  DType dtype = to.dtype();
  Arg ready = as_dtype(tape, std::move(value), dtype);
  tape.apply_none(op, {std::move(ready), std::move(to)}, attrs);
}

}  // namespace

const Op kAssign{.name = "assign",
                 .about = "the target becomes the value, broadcast",
                 .inputs = {"value"},
                 .updates = {"to"},
                 .saves = {{"value", {}}},  // none for the target: nothing of its old bytes is left
                 .passes = {{"to", "value"}},
                 .strided = true,
                 .infer = infer_assign,
                 .forward = forward_assign,
                 .backward = sum_to_value};

const Op kAddInto{.name = "add_into",
                  .about = "the value, broadcast, is added to the target",
                  .inputs = {"value"},
                  .updates = {"to"},
                  .saves = {{"value", {}}, {"to", {}}},
                  .passes = {{"to", "value"}, {"to", "to"}},
                  .strided = true,
                  .infer = infer_number,
                  .forward = forward_in_place<fn::Add>,
                  .backward = sum_to_value};

const Op kMulInto{.name = "mul_into",
                  .about = "the target is multiplied by the value, broadcast",
                  .inputs = {"value"},
                  .updates = {"to"},
                  .saves = {{"value", {old("to")}}, {"to", {in("value")}}},
                  .strided = true,
                  .infer = infer_number,
                  .forward = forward_in_place<fn::Mul>,
                  .backward = backward_mul};

const Op kEmaUpdate{.name = "ema_update",
                    .about = "target = keep * target + (1 - keep) * source",
                    .inputs = {"source"},
                    .updates = {"target"},
                    .attrs = {{"keep", AttrKind::real}},
                    .saves = {{"source", {}}, {"target", {}}},
                    .strided = true,
                    .infer = infer_average,
                    .forward = forward_average,
                    .backward = backward_average};

const Op kRunningUpdate{.name = "running_update",
                        .about = "running = (1 - momentum) * running + momentum * batch",
                        .inputs = {"batch"},
                        .updates = {"running"},
                        .attrs = {{"momentum", AttrKind::real}},
                        .saves = {{"batch", {}}, {"running", {}}},
                        .strided = true,
                        .infer = infer_average,
                        .forward = forward_average,
                        .backward = backward_average};

const Op kCounterAdd{.name = "counter_add",
                     .about = "adds to a counter, modulo a number unless that is 0",
                     .inputs = {},
                     .updates = {"counter"},
                     .attrs = {{"amount", AttrKind::integer}, {"modulo", AttrKind::integer}},
                     .strided = true,
                     .infer = infer_counter,
                     .forward = forward_counter};

void assign(Tape& tape, Arg to, Arg value) { apply(tape, kAssign, std::move(to), std::move(value)); }

// An integer target meets a number that is not whole as a double, and what comes out is truncated: not the number.
void add_into(Tape& tape, Arg to, Arg value) {
  if (is_floating(to.dtype()) || !is_fractional(value)) return apply(tape, kAddInto, std::move(to), std::move(value));
  Value sum = add(tape, as_dtype(tape, to, DType::f64), as_dtype(tape, std::move(value), DType::f64));
  assign(tape, std::move(to), std::move(sum));
}
void mul_into(Tape& tape, Arg to, Arg value) {
  if (is_floating(to.dtype()) || !is_fractional(value)) return apply(tape, kMulInto, std::move(to), std::move(value));
  Value product = mul(tape, as_dtype(tape, to, DType::f64), as_dtype(tape, std::move(value), DType::f64));
  assign(tape, std::move(to), std::move(product));
}

void write_span(Tape& tape, const Tensor& to, std::int64_t lo, std::int64_t hi, Arg value) {
  if (!to.contiguous() || lo < 0 || lo > hi || hi > to.size()) {
    fail(ErrorKind::user,
         "[write_span] expected a span inside a contiguous tensor of {} elements, got {}..{} of shape {}", to.size(),
         lo, hi, to_string(to.shape()));
  }
  assign(tape, to.with_view(Shape{hi - lo}, Strides{1}, to.offset() + lo), std::move(value));
}

void ema_update(Tape& tape, Arg target, Arg source, double keep) {
  apply(tape, kEmaUpdate, std::move(target), std::move(source), Attrs().add(keep));
}
void running_update(Tape& tape, Arg running, Arg batch, double momentum) {
  apply(tape, kRunningUpdate, std::move(running), std::move(batch), Attrs().add(momentum));
}
void counter_add(Tape& tape, const Tensor& counter, std::int64_t amount, std::int64_t modulo) {
  tape.apply_none(kCounterAdd, {counter}, Attrs().add(amount).add(modulo));
}

void register_state_ops() {
  for (const Op* op : {&kAssign, &kAddInto, &kMulInto, &kEmaUpdate, &kRunningUpdate, &kCounterAdd}) register_op(*op);
}

}  // namespace reprise
