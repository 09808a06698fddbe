// Comparisons with NumPy broadcasting; no gradient passes. The result is 0 or 1 in the operands' float type; for
// integers in the tape's default float type. NaN compares as in C++. Errors (user): shapes that do not broadcast.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kLess;
extern const Op kLessEqual;
extern const Op kGreater;
extern const Op kGreaterEqual;
extern const Op kEqual;
extern const Op kNotEqual;

Value less(Tape& tape, Arg a, Arg b);
Value less_equal(Tape& tape, Arg a, Arg b);
Value greater(Tape& tape, Arg a, Arg b);
Value greater_equal(Tape& tape, Arg a, Arg b);
Value equal(Tape& tape, Arg a, Arg b);
Value not_equal(Tape& tape, Arg a, Arg b);

void register_compare_ops();

}  // namespace reprise
