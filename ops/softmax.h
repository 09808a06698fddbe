// softmax, log_softmax and logsumexp along one axis, shifted by the largest element so that nothing overflows.
// Called by models and programs; gradients read the result, not the operand.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kSoftmax;
extern const Op kLogSoftmax;
extern const Op kLogSumExp;

Value softmax(Tape& tape, Arg x, std::int64_t axis = -1);
Value log_softmax(Tape& tape, Arg x, std::int64_t axis = -1);
/// log(sum(exp(x))) along `axis`, which goes or, with `keep`, stays with extent 1.
Value logsumexp(Tape& tape, Arg x, std::int64_t axis = -1, bool keep = false);

void register_softmax_ops();

}  // namespace reprise
