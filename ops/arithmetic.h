// Arithmetic of two operands with NumPy broadcasting: add, sub, mul, div, mod. Floats of one dtype, or i64 (not div).
//
// An i64 tensor and a whole number give i64; an i64 tensor beside a float is cast to that float by a recorded node.
// Errors (user): shapes that do not broadcast, named with op and both shapes.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kAdd;
extern const Op kSub;
extern const Op kMul;
extern const Op kDiv;
extern const Op kMod;

Value add(Tape& tape, Arg a, Arg b);
Value sub(Tape& tape, Arg a, Arg b);
Value mul(Tape& tape, Arg a, Arg b);
/// Floats; integers are cast to the tape's default float type first.
Value div(Tape& tape, Arg a, Arg b);
/// Remainder with the divisor's sign, as Python's %; no gradient. Integers: a divisor of 0 gives 0.
Value mod(Tape& tape, Arg a, Arg b);

void register_arithmetic_ops();

}  // namespace reprise
