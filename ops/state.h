// Writers of whole tensors and views: assign, add_into, mul_into, write_span, averages and counters.
//
// `to` is a state or leaf (bytes change, nothing is differentiated) or a value (written in place and differentiable;
// its handle stands for the new value). Its strides may be any; a value that shares bytes with it is read before the
// write.
#pragma once

#include <cstdint>

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kAssign;
extern const Op kAddInto;
extern const Op kMulInto;
extern const Op kEmaUpdate;
extern const Op kRunningUpdate;
extern const Op kCounterAdd;

/// `value` is broadcast to `to` and cast to its dtype; where an integer target meets a number that is not whole, what
/// comes out is cast and not the value. Errors (user): shapes that do not broadcast.
void assign(Tape& tape, Arg to, Arg value);
void add_into(Tape& tape, Arg to, Arg value);
void mul_into(Tape& tape, Arg to, Arg value);
/// Flat elements lo..hi-1 of a contiguous state become `value`. Errors (user): a span outside.
void write_span(Tape& tape, const Tensor& to, std::int64_t lo, std::int64_t hi, Arg value);

/// target = keep * target + (1 - keep) * source; same shapes.
void ema_update(Tape& tape, Arg target, Arg source, double keep);
/// running = (1 - momentum) * running + momentum * batch; same shapes.
void running_update(Tape& tape, Arg running, Arg batch, double momentum);
/// counter (i64, any shape) += amount, then taken modulo `modulo` unless that is 0.
void counter_add(Tape& tape, const Tensor& counter, std::int64_t amount, std::int64_t modulo = 0);

void register_state_ops();

}  // namespace reprise
