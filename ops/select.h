// Choices: where (by a condition), argmax and top_k (by size). What argmax and top_k decide is kept, never recomputed.
// Called by models and programs; an index is lower first on ties.
#pragma once

#include <cstdint>

#include "autograd/op.h"
#include "autograd/tape.h"

namespace reprise {

extern const Op kWhere;
extern const Op kArgmax;
extern const Op kTopK;

/// cond nonzero ? a : b, all three broadcast; gradient to a and b. cond of any dtype.
Value where(Tape& tape, Arg cond, Arg a, Arg b);

/// Index of the largest element along `axis`, the lower one on ties; i64, no gradient. NaN counts as largest.
Value argmax(Tape& tape, Arg x, std::int64_t axis = -1, bool keep = false);

struct TopK {
  Value values;   // [..., k], falling
  Value indices;  // [..., k], i64
};
/// The k largest of the last axis, the lower index first on ties; no gradient. NaN counts as largest. Errors (user): k
/// outside [1, extent].
TopK top_k(Tape& tape, Arg x, std::int64_t k);

void register_select_ops();

}  // namespace reprise
