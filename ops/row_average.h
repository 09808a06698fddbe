// Statistics kept row by row, by an index list in which rows may repeat: ema_rows and count_rows.
//
// The announced write is exactly the rows named. All indices are checked before a byte changes. The result does not
// depend on the number of threads: what is listed for one row is added up in the order of the list.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kEmaRows;
extern const Op kCountRows;

/// Each row of `to` [n, rest...] that `rows` names moves towards the mean of the values listed for it:
/// to[r] = keep * to[r] + (1 - keep) * mean(value[i] over all i with rows[i] = r). `value` has the shape
/// [rows..., rest...], with 1 where it is the same along an axis of the list. `to` is a state, or a value that is
/// written in place and differentiable; each of its rows lies in one piece. Errors (user): shapes; an index outside.
void ema_rows(Tape& tape, Arg to, Arg rows, Arg value, double keep);

/// counter[r] (i64 [n]) += how often `rows` names r. Errors (user): shapes, dtypes; an index outside.
void count_rows(Tape& tape, const Tensor& counter, Arg rows);

void register_row_average_ops();

}  // namespace reprise
