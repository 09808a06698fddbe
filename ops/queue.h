// Dense queues as MoCo keeps them: a ring whose oldest rows are written over, and a queue that moves. Both write keys
// [n, d...] into queue [k, d...]; `queue` is a state, or a value that is written in place and differentiable.
#pragma once

#include <cstdint>

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kEnqueueRing;
extern const Op kEnqueueShift;

/// Writes keys over rows position, position + 1, ..., going round at the end; returns the next position. The announced
/// write is these rows, known without data. Errors (user): n above k, a position outside [0, k).
std::int64_t enqueue_ring(Tape& tape, Arg queue, Arg keys, std::int64_t position);
/// Moves the queue by n rows and writes keys in the place that is freed: at the front (the oldest rows fall off the
/// end) or, with `at_back`, at the end. Rewrites the whole queue. Errors (user): n above k.
void enqueue_shift(Tape& tape, Arg queue, Arg keys, bool at_back = false);

void register_queue_ops();

}  // namespace reprise
