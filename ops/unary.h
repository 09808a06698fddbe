// Functions of one operand, element by element, on f32 and f64; neg and abs on i64 too, where the least number is its
// own negative.
//
// Each saves the one of its operand and its result that its derivative is cheapest in, and nothing where it needs none.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kNeg;
extern const Op kAbs;
extern const Op kExp;
extern const Op kLog;
extern const Op kSqrt;
extern const Op kSin;
extern const Op kCos;
extern const Op kTanh;
extern const Op kSigmoid;
extern const Op kRelu;
extern const Op kGelu;
extern const Op kSilu;
extern const Op kClamp;
extern const Op kRound;
extern const Op kRoundBf16;

Value neg(Tape& tape, Arg x);
/// Derivative 0 at 0.
Value abs(Tape& tape, Arg x);
Value exp(Tape& tape, Arg x);
Value log(Tape& tape, Arg x);
Value sqrt(Tape& tape, Arg x);
Value sin(Tape& tape, Arg x);
Value cos(Tape& tape, Arg x);
Value tanh(Tape& tape, Arg x);
Value sigmoid(Tape& tape, Arg x);
/// max(x, 0), derivative 0 at 0. NaN stays NaN.
Value relu(Tape& tape, Arg x);
/// x * Phi(x) with the exact normal distribution function (Hendrycks and Gimpel, 2016).
Value gelu(Tape& tape, Arg x);
/// x * sigmoid(x) (Elfwing, Uchibe and Doya, 2018).
Value silu(Tape& tape, Arg x);
/// min(max(x, lo), hi); derivative 1 where lo <= x <= hi, else 0. Errors (user): lo above hi.
Value clamp(Tape& tape, Arg x, double lo, double hi);
/// To the nearest integer, ties to even; straight-through gradient 1.
Value round(Tape& tape, Arg x);
/// To the nearest bfloat16 number, ties to even, in the operand's float type; gradient 1.
Value round_bf16(Tape& tape, Arg x);

void register_unary_ops();

}  // namespace reprise
