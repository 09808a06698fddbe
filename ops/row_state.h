// Writers of rows: assign_rows, add_rows, mul_rows by an index list, and the two dense queues (ring and shift).
//
// The announced write is exactly the rows named. All indices are checked, and duplicates refused, before a byte
// changes. `to` as in ops/state.h: a state, or a value that is written in place and differentiable.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kAssignRows;
extern const Op kAddRows;
extern const Op kMulRows;
extern const Op kEnqueueRing;
extern const Op kEnqueueShift;

/// Row rows[i] of `to` [n, rest...] meets row i of `value`, which is broadcast to [rows..., rest...]. With `wrap`
/// indices are taken modulo n. Errors (user): shapes; an index outside; an index that comes twice.
void assign_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap = false);
void add_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap = false);
void mul_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap = false);

/// Writes keys [n, d...] over rows position, position + 1, ... of queue [k, d...], going round at its end; returns the
/// next position. The rows are known without data. Errors (user): n above k, a position outside [0, k).
std::int64_t enqueue_ring(Tape& tape, Arg queue, Arg keys, std::int64_t position);
/// Moves the queue by n rows and writes keys in the place that is freed: at the front (the oldest rows fall off the
/// end) or, with `at_back`, at the end. Rewrites the whole queue.
void enqueue_shift(Tape& tape, Arg queue, Arg keys, bool at_back = false);

void register_row_state_ops();

}  // namespace reprise
