// Functions of one operand. Each contract saves what its derivative is cheapest in: the result (exp, tanh, ...), the
// operand (log, sin, ...), or nothing (neg, round).
#include "ops/unary.h"

#include "ops/broadcast.h"
#include "ops/elementwise_functors.h"
#include "ops/kernels.h"

namespace reprise {

namespace {

namespace fn = functors;

void infer_number(InferContext& c) {
  require_number(c, 0);
  c.result(0, c.dtype(0), c.shape(0));
}

template <class F>
void forward(ForwardContext& c) {
  dispatch_float(c.out(0).dtype, [&]<class T>() { map_elements<T, T>(F{}, c.out(0), c.in(0)); });
}

template <class F>
void forward_number(ForwardContext& c) {
  dispatch_number(c.out(0).dtype, [&]<class T>() { map_elements<T, T>(F{}, c.out(0), c.in(0)); });
}

// Gradients from what is saved: the operand, the result.
template <class F>
void backward_in(BackwardContext& c) {
  const TensorView& g = c.grad_out(0);
  dispatch_float(g.dtype, [&]<class T>() { map_elements<T, T, T>(F{}, c.grad(0), g, c.in(0)); });
}
template <class F>
void backward_out(BackwardContext& c) {
  const TensorView& g = c.grad_out(0);
  dispatch_float(g.dtype, [&]<class T>() { map_elements<T, T, T>(F{}, c.grad(0), g, c.out(0)); });
}
void backward_neg(BackwardContext& c) {
  const TensorView& g = c.grad_out(0);
  dispatch_float(g.dtype, [&]<class T>() { map_elements<T, T>(fn::Neg{}, c.grad(0), g); });
}
void backward_pass(BackwardContext&) {}  // the tape hands the gradient through

void infer_clamp(InferContext& c) {
  infer_same_float(c);
  double lo = c.attrs().real(0), hi = c.attrs().real(1);
  if (!(lo <= hi)) fail(ErrorKind::user, "[clamp] expected lo <= hi, got {} and {}", lo, hi);
}
void forward_clamp(ForwardContext& c) {
  dispatch_float(c.out(0).dtype, [&]<class T>() {
    map_elements<T, T>(fn::Clamp<T>{T(c.attrs->real(0)), T(c.attrs->real(1))}, c.out(0), c.in(0));
  });
}
void backward_clamp(BackwardContext& c) {
  const TensorView& g = c.grad_out(0);
  dispatch_float(g.dtype, [&]<class T>() {
    map_elements<T, T, T>(fn::ClampGrad<T>{T(c.attrs->real(0)), T(c.attrs->real(1))}, c.grad(0), g, c.in(0));
  });
}

using Forward = void (*)(ForwardContext&);
using Backward = void (*)(BackwardContext&);

Op unary(const char* name, const char* about, std::vector<Saved> needs, Forward forward, Backward backward) {
  std::vector<SavedReuse> saved_reuse;
  for (const Saved& saved : needs) saved_reuse.push_back({saved, "x"});
  return Op{.name = name,
            .about = about,
            .inputs = {"x"},
            .outputs = {"out"},
            .saves = {{"x", std::move(needs)}},
            .reuse = {{"x", "out"}},
            .grad_reuse = {{"out", "x"}},
            .saved_reuse = std::move(saved_reuse),
            .strided = true,
            .fails_first = true,
            .infer = infer_same_float,
            .forward = forward,
            .backward = backward};
}

Op on_numbers(Op op) {
  op.infer = infer_number;
  return op;
}
Op passing(Op op) {
  op.passes = {{"out", "x"}};
  op.grad_reuse.clear();
  return op;
}
Op clamping(Op op) {
  op.attrs = {{"lo", AttrKind::real}, {"hi", AttrKind::real}};
  op.infer = infer_clamp;
  return op;
}

}  // namespace

const Op kNeg = on_numbers(unary("neg", "-x", {}, forward_number<fn::Neg>, backward_neg));
const Op kAbs = on_numbers(unary("abs", "|x|", {in("x")}, forward_number<fn::Abs>, backward_in<fn::AbsGrad>));
const Op kExp = unary("exp", "e^x", {out("out")}, forward<fn::Exp>, backward_out<fn::ExpGrad>);
const Op kLog = unary("log", "natural logarithm", {in("x")}, forward<fn::Log>, backward_in<fn::LogGrad>);
const Op kSqrt = unary("sqrt", "square root", {out("out")}, forward<fn::Sqrt>, backward_out<fn::SqrtGrad>);
const Op kSin = unary("sin", "sine", {in("x")}, forward<fn::Sin>, backward_in<fn::SinGrad>);
const Op kCos = unary("cos", "cosine", {in("x")}, forward<fn::Cos>, backward_in<fn::CosGrad>);
const Op kTanh = unary("tanh", "hyperbolic tangent", {out("out")}, forward<fn::Tanh>, backward_out<fn::TanhGrad>);
const Op kSigmoid =
    unary("sigmoid", "1 / (1 + e^-x)", {out("out")}, forward<fn::Sigmoid>, backward_out<fn::SigmoidGrad>);
const Op kRelu = unary("relu", "max(x, 0)", {out("out")}, forward<fn::Relu>, backward_out<fn::ReluGrad>);
const Op kGelu =
    unary("gelu", "x times the normal distribution function", {in("x")}, forward<fn::Gelu>, backward_in<fn::GeluGrad>);
const Op kSilu = unary("silu", "x * sigmoid(x)", {in("x")}, forward<fn::Silu>, backward_in<fn::SiluGrad>);
const Op kClamp = clamping(unary("clamp", "min(max(x, lo), hi)", {in("x")}, forward_clamp, backward_clamp));
const Op kRound =
    passing(unary("round", "nearest integer, ties to even; gradient 1", {}, forward<fn::Round>, backward_pass));
const Op kRoundBf16 = passing(unary("round_bf16", "nearest bfloat16 in the operand's type; gradient 1", {},
                                    forward<fn::RoundBf16>, backward_pass));

Value neg(Tape& tape, Arg x) { return tape.apply_one(kNeg, {std::move(x)}); }
Value abs(Tape& tape, Arg x) { return tape.apply_one(kAbs, {std::move(x)}); }
Value exp(Tape& tape, Arg x) { return tape.apply_one(kExp, {std::move(x)}); }
Value log(Tape& tape, Arg x) { return tape.apply_one(kLog, {std::move(x)}); }
Value sqrt(Tape& tape, Arg x) { return tape.apply_one(kSqrt, {std::move(x)}); }
Value sin(Tape& tape, Arg x) { return tape.apply_one(kSin, {std::move(x)}); }
Value cos(Tape& tape, Arg x) { return tape.apply_one(kCos, {std::move(x)}); }
Value tanh(Tape& tape, Arg x) { return tape.apply_one(kTanh, {std::move(x)}); }
Value sigmoid(Tape& tape, Arg x) { return tape.apply_one(kSigmoid, {std::move(x)}); }
Value relu(Tape& tape, Arg x) { return tape.apply_one(kRelu, {std::move(x)}); }
Value gelu(Tape& tape, Arg x) { return tape.apply_one(kGelu, {std::move(x)}); }
Value silu(Tape& tape, Arg x) { return tape.apply_one(kSilu, {std::move(x)}); }
Value clamp(Tape& tape, Arg x, double lo, double hi) {
  return tape.apply_one(kClamp, {std::move(x)}, Attrs().add(lo).add(hi));
}
Value round(Tape& tape, Arg x) { return tape.apply_one(kRound, {std::move(x)}); }
Value round_bf16(Tape& tape, Arg x) { return tape.apply_one(kRoundBf16, {std::move(x)}); }

void register_unary_ops() {
  for (const Op* op : {&kNeg, &kAbs, &kExp, &kLog, &kSqrt, &kSin, &kCos, &kTanh, &kSigmoid, &kRelu, &kGelu, &kSilu,
                       &kClamp, &kRound, &kRoundBf16}) {
    register_op(*op);
  }
}

}  // namespace reprise
