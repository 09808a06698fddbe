// Writers of rows by an index list: assign_rows, add_rows, mul_rows. (Queues, whose rows follow from a position, are in
// ops/queue.h.)
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

/// Row rows[i] of `to` [n, rest...] meets row i of `value`, which is broadcast to [rows..., rest...]. With `wrap`
/// indices are taken modulo n. Errors (user): shapes; an index outside; an index that comes twice.
void assign_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap = false);
void add_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap = false);
void mul_rows(Tape& tape, Arg to, Arg rows, Arg value, bool wrap = false);

void register_row_state_ops();

}  // namespace reprise
