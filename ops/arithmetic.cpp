// add, sub, mul, div, mod. A gradient is reduced to the shape of an operand that was broadcast, in the same pass.
#include "ops/arithmetic.h"

#include "ops/cast.h"
#include "ops/elementwise_functors.h"
#include "ops/kernels.h"
#include "ops/operands.h"
#include "ops/sum_loops.h"

namespace reprise {

namespace {

namespace fn = functors;

void infer_numbers(InferContext& c) {
  require_number(c, 0);
  require_same_dtype(c, 0, 1);
  c.result(0, c.dtype(0), require_broadcast(c, 0, 1));
}

void infer_floats(InferContext& c) {
  require_float(c, 0);
  infer_numbers(c);
}

template <class F, class Integer = fn::Wrapping<F>>
void forward(ForwardContext& c) {
  dispatch_number(c.out(0).dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      map_elements<T, T, T>(F{}, c.out(0), c.in(0), c.in(1));
    } else {
      map_elements<T, T, T>(Integer{}, c.out(0), c.in(0), c.in(1));
    }
  });
}

// The gradient of a broadcast operand: the result's, times `factor`, summed over the axes it was broadcast along.
void sum_gradient(BackwardContext& c, int index, double factor) {
  if (!c.wants(index)) return;
  const TensorView& g = c.grad_out(0);
  const TensorView& to = c.grad(index);
  dispatch_float(g.dtype, [&]<class T>() { sum_elements<T, T>(fn::Copy{}, g.shape, to, factor, g); });
}

void backward_add(BackwardContext& c) {
  sum_gradient(c, 0, 1.0);
  sum_gradient(c, 1, 1.0);
}
void backward_sub(BackwardContext& c) {
  sum_gradient(c, 0, 1.0);
  sum_gradient(c, 1, -1.0);
}

// Runs both gradients, last the one that takes over the memory of the arriving gradient.
template <class First, class Second>
void run_both(BackwardContext& c, const First& first, const Second& second) {
  if (!c.wants(0)) return second(c.grad(1));
  if (!c.wants(1)) return first(c.grad(0));
  const TensorView& a = c.grad(0);
  const TensorView& b = c.grad(1);
  bool a_last = a.data == c.grad_out(0).data;
  if (!a_last) first(a);
  second(b);
  if (a_last) first(a);
}

void backward_mul(BackwardContext& c) {
  const TensorView& g = c.grad_out(0);
  dispatch_float(g.dtype, [&]<class T>() {
    run_both(
        c, [&](const TensorView& to) { sum_elements<T, T, T>(fn::Mul{}, g.shape, to, 1.0, g, c.in(1)); },
        [&](const TensorView& to) { sum_elements<T, T, T>(fn::Mul{}, g.shape, to, 1.0, g, c.in(0)); });
  });
}

void backward_div(BackwardContext& c) {
  const TensorView& g = c.grad_out(0);
  dispatch_float(g.dtype, [&]<class T>() {
    run_both(
        c, [&](const TensorView& to) { sum_elements<T, T, T>(fn::Div{}, g.shape, to, 1.0, g, c.in(1)); },
        [&](const TensorView& to) { sum_elements<T, T, T, T>(fn::DivGradB{}, g.shape, to, 1.0, g, c.in(0), c.in(1)); });
  });
}

/// Whether one of the two is a number and the other one floating: the tape makes such a number a constant by itself.
bool number_beside_float(const Arg& a, const Arg& b) {
  return is_number(a) != is_number(b) && is_floating(is_number(a) ? b.dtype() : a.dtype());
}

const Attrs kNoAttrs = Attrs();

Value apply(Tape& tape, const Op& op, Arg& a, Arg& b) {
  if (!number_beside_float(a, b)) match_dtypes(tape, a, b);
  return tape.apply_one(op, {std::move(a), std::move(b)}, kNoAttrs);
}

}  // namespace

const Op kAdd{.name = "add",
              .about = "a + b, broadcast",
              .inputs = {"a", "b"},
              .outputs = {"out"},
              .saves = {{"a", {}}, {"b", {}}},
              .reuse = {{"a", "out"}, {"b", "out"}},
              .passes = {{"out", "a"}, {"out", "b"}},
              .strided = true,
              .infer = infer_numbers,
              .forward = forward<fn::Add>,
              .backward = backward_add};

const Op kSub{.name = "sub",
              .about = "a - b, broadcast",
              .inputs = {"a", "b"},
              .outputs = {"out"},
              .saves = {{"a", {}}, {"b", {}}},
              .reuse = {{"a", "out"}, {"b", "out"}},
              .passes = {{"out", "a"}},
              .strided = true,
              .infer = infer_numbers,
              .forward = forward<fn::Sub>,
              .backward = backward_sub};

const Op kMul{.name = "mul",
              .about = "a * b, broadcast",
              .inputs = {"a", "b"},
              .outputs = {"out"},
              .saves = {{"a", {in("b")}}, {"b", {in("a")}}},
              .reuse = {{"a", "out"}, {"b", "out"}},
              .grad_reuse = {{"out", "a"}, {"out", "b"}},
              .strided = true,
              .fails_first = true,
              .infer = infer_numbers,
              .forward = forward<fn::Mul>,
              .backward = backward_mul};

const Op kDiv{.name = "div",
              .about = "a / b, broadcast",
              .inputs = {"a", "b"},
              .outputs = {"out"},
              .saves = {{"a", {in("b")}}, {"b", {in("a"), in("b")}}},
              .reuse = {{"a", "out"}, {"b", "out"}},
              .grad_reuse = {{"out", "a"}, {"out", "b"}},
              .strided = true,
              .fails_first = true,
              .infer = infer_floats,
              .forward = forward<fn::Div, fn::Mod>,
              .backward = backward_div};

const Op kMod{.name = "mod",
              .about = "remainder of a by b with the sign of b, broadcast; no gradient",
              .inputs = {"a", "b"},
              .outputs = {"out"},
              .reuse = {{"a", "out"}, {"b", "out"}},
              .strided = true,
              .infer = infer_numbers,
              .forward = forward<fn::Mod, fn::Mod>};

Value add(Tape& tape, Arg a, Arg b) { return apply(tape, kAdd, a, b); }
Value sub(Tape& tape, Arg a, Arg b) { return apply(tape, kSub, a, b); }
Value mul(Tape& tape, Arg a, Arg b) { return apply(tape, kMul, a, b); }
Value mod(Tape& tape, Arg a, Arg b) { return apply(tape, kMod, a, b); }

Value div(Tape& tape, Arg a, Arg b) {
  match_dtypes(tape, a, b);
  if (!is_floating(a.dtype())) {
    a = as_dtype(tape, a, tape.options().default_dtype);
    b = as_dtype(tape, b, tape.options().default_dtype);
  }
  return tape.apply_one(kDiv, {std::move(a), std::move(b)});
}

void register_arithmetic_ops() {
  for (const Op* op : {&kAdd, &kSub, &kMul, &kDiv, &kMod}) register_op(*op);
}

}  // namespace reprise
