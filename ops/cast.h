// Conversion between dtypes. Float to float is differentiable (the gradient is cast back); to or from an integer is
// not.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kCast;      // float to float
extern const Op kCastHard;  // everything else: no gradient

/// `x` in `dtype`; a float becomes an integer by truncation towards zero. The operand's own dtype gives a view of it.
Value cast(Tape& tape, Arg x, DType dtype);

void register_cast_ops();

}  // namespace reprise
