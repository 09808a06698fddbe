// Conversion between dtypes. Float to float is differentiable (the gradient is cast back); to or from an integer is
// not.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kCast;      // float to float
extern const Op kCastHard;  // everything else: no gradient

/// `x` in `dtype`. A float becomes an integer by truncation towards zero, the nearest end of the range where that does
/// not fit, and 0 where it is NaN. bf16 is the nearest one, ties to even. The operand's own dtype gives a view of it.
Value cast(Tape& tape, Arg x, DType dtype);

void register_cast_ops();

}  // namespace reprise
