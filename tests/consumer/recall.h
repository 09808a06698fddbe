// An op that remembers: every row of x is scaled by what a ring of memory held at its place, and takes that place.
// With it the model type `recall`. Called by main.cpp and by the checks.
#pragma once

#include "autograd/op.h"
#include "autograd/tape.h"

namespace recall {

extern const reprise::Op kRecall;

/// out[i] = x[i] * (1 + memory[r]), then memory[r] = x[i], with r = position + i going round. x [n, c], memory [m, c].
/// Errors (user): other shapes, n above m, a position outside [0, m).
reprise::Value recall(reprise::Tape& tape, reprise::Arg x, reprise::Arg memory, std::int64_t position);

/// Makes the op and the model type known. Call once, before the command line is read.
void register_recall();

}  // namespace recall
