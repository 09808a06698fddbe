// softmax, log_softmax and logsumexp along one axis, shifted by the largest element so that nothing overflows.
// Called by models and programs. Gradients of the first two read the result alone; that of logsumexp both x and the
// result.
#pragma once

#include <cstdint>

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kSoftmax;
extern const Op kLogSoftmax;
extern const Op kLogSumExp;

/// exp(x) / sum(exp(x)) along `axis`; x of f32 or f64, the result of its shape. Errors (user): dtype; no such axis.
Value softmax(Tape& tape, Arg x, std::int64_t axis = -1);
/// x - logsumexp(x); the rest as softmax.
Value log_softmax(Tape& tape, Arg x, std::int64_t axis = -1);
/// log(sum(exp(x))) along `axis`, which goes or, with `keep`, stays with extent 1; minus infinity of nothing. Errors as
/// softmax.
Value logsumexp(Tape& tape, Arg x, std::int64_t axis = -1, bool keep = false);

void register_softmax_ops();

}  // namespace reprise
