// Schedule: what one recorded step will do, known before it runs. A tape that follows one owes exactly what the step's
// needed sets ask for, checks every node against it, and checks the sequence of memory events at each phase's end.
//
// Made by recompute/plan_step.h from dry traces of the same code that then runs, so the peak it tells is the peak that
// is measured. A departure is an error before the backward, with nothing moved.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/op.h"
#include "memory/meter.h"

namespace reprise {

/// One node of the step: what it must be, and which of its reads something will really need.
struct ScheduledNode {
  const Op* op = nullptr;
  std::uint64_t signature = 0;      // op, attributes, shapes, dtypes, regions, wanted gradients, segment
  Mask formula_operands = 0;        // owed for its backward formula
  Mask formula_results = 0;
  Mask replay_operands = 0;         // owed for a replay of its segment
};

/// A count and hash of memory events, each its category and size.
struct Trail {
  std::uint64_t events = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const Trail&, const Trail&) = default;
};

struct Schedule {
  std::vector<ScheduledNode> nodes;
  Trail forward;                    // from the tape's first node to the backward
  Trail step;                       // to the end of the backward
  MeterSnapshot peak;               // of the dry step
  bool exact = true;                // false where a region depends on data: sizes are then upper bounds
};

}  // namespace reprise
