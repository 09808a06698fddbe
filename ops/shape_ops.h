// Ops that change the shape or the place of elements, not their values, on any dtype. reshape, transpose, slice and
// stop_gradient give views (no bytes move); concat and copy make new bytes.
#pragma once

#include <span>

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kReshape;
extern const Op kTranspose;
extern const Op kSlice;
extern const Op kConcat;
extern const Op kCopy;  // the tape records it where an op needs contiguous operands
extern const Op kStopGradient;

/// Same elements in row-major order; one extent may be -1 and is inferred. An operand whose strides are not contiguous
/// is copied first. Errors (user): element counts that differ.
Value reshape(Tape& tape, Arg x, Shape shape);
/// Axis i of the result is axis order[i] of x. Errors (user): not a permutation.
Value transpose(Tape& tape, Arg x, const Dims& order);
/// Swaps the last two axes. Errors (user): fewer than two.
Value transpose(Tape& tape, Arg x);
/// Elements start, start + step, ... before stop along `axis`; negative start and stop count from the end, and both are
/// cut to the extent, as in Python. Errors (user): step below 1.
Value slice(Tape& tape, Arg x, std::int64_t axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// Joins along `axis`; other extents and dtypes must agree. At least one operand, at most kMaxOperands.
Value concat(Tape& tape, std::span<const Arg> parts, std::int64_t axis = 0);
/// The same numbers in new contiguous bytes; gradient 1. Also what makes strided operands contiguous.
Value copy(Tape& tape, Arg x);
/// The same bytes as a constant: no gradient passes.
Value stop_gradient(Tape& tape, Arg x);

void register_shape_ops();

}  // namespace reprise
