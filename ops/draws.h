// Ops that take numbers from a stream: uniform, normal, dropout. A draw is a function of (seed, stream, position), so a
// replay or a backward formula computes it again from the stored position: no mask is ever kept.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kUniform;
extern const Op kNormal;
extern const Op kDropout;

/// f32 or f64 numbers in [0, 1), multiples of 2^-24; element i is the number at position p + i. Takes as many
/// positions.
Value uniform(Tape& tape, Stream& stream, const Shape& shape, DType dtype = DType::f32);
/// Standard normal numbers (Box and Muller, 1958); elements 2j and 2j+1 come from positions p + 2j and p + 2j + 1.
/// Takes the element count rounded up to even.
Value normal(Tape& tape, Stream& stream, const Shape& shape, DType dtype = DType::f32);
/// Each element is kept and divided by 1 - p with probability 1 - p, else 0. One number per element: kept where it is
/// at least p. Errors (user): p outside [0, 1).
Value dropout(Tape& tape, Stream& stream, Arg x, double p);

void register_draw_ops();

}  // namespace reprise
