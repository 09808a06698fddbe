// Reductions over one axis or all: sum, mean, max. Sums are added up in fixed blocks, in double between blocks, so that
// they are exact to a few roundings and have the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kSum;
extern const Op kMean;
extern const Op kMax;

/// Over all axes: shape [], or all extents 1 with `keep`.
Value sum(Tape& tape, Arg x, bool keep = false);
Value mean(Tape& tape, Arg x, bool keep = false);
Value max(Tape& tape, Arg x, bool keep = false);
/// Over one axis, which goes or, with `keep`, stays with extent 1. Errors (user): no such axis; max and mean of
/// nothing.
Value sum_axis(Tape& tape, Arg x, std::int64_t axis, bool keep = false);
Value mean_axis(Tape& tape, Arg x, std::int64_t axis, bool keep = false);
/// NaN counts as largest. The gradient of max goes to the first maximum.
Value max_axis(Tape& tape, Arg x, std::int64_t axis, bool keep = false);

void register_reduce_ops();

}  // namespace reprise
