// Schedule: what one recorded step will do, known before it runs. A tape that follows one owes exactly what the step's
// needed sets ask for, checks every node against it, and checks the sequence of memory events at each phase's end.
//
// Made by recompute/plan_step.h from dry traces of the same code that then runs, so the peak it tells is the peak that
// is measured. A departure is an error before the backward, with nothing moved. No trace knows of a backward that
// fails, a user's hook, another backward over the same nodes, or what host code writes before it: from there on the
// tape goes its way without the schedule, and preserves what is then overwritten as it comes.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/op.h"
#include "memory/meter.h"
#include "memory/placement_plan.h"

namespace reprise {

/// One node of the step: what it must be, and which of its reads something will really need.
struct ScheduledNode {
  const Op* op = nullptr;
  std::uint64_t signature = 0;  // op, attributes, shapes, dtypes, regions, wanted gradients, segment
  Mask formula_operands = 0;    // owed for its backward formula
  Mask formula_results = 0;
  Mask replay_operands = 0;  // owed for a replay of its segment
};

/// A count and hash of memory events, each its category and size.
struct Trail {
  std::uint64_t events = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const Trail&, const Trail&) = default;
};

/// What a plan says of one node, besides the option of its segment.
struct NodeChoice {
  Mask kept_results = 0;    // kept though its segment is replayed
  Mask whole_updates = 0;   // reads whose bytes this update is the first to overwrite: copied whole,
  Mask region_updates = 0;  // or by region; where neither bit is set, as the option of their segment says
};

inline PreserveBy preserve_by(const NodeChoice& choice, int update) {
  if (choice.whole_updates >> update & 1) return PreserveBy::whole;
  return choice.region_updates >> update & 1 ? PreserveBy::region : PreserveBy::as_asked;
}

struct Schedule {
  std::vector<ScheduledNode> nodes;
  std::vector<NodeChoice> choices;  // per node, or empty
  bool draft = false;               // being made: only the choices count
  Trail forward;                    // from the tape's first node to the backward
  Trail step;                       // to the end of the backward
  std::uint64_t host_saves = 0;     // writes of host code in the forward that have owed bytes saved
  MeterSnapshot peak;               // of the dry step
  PlacementPlan placement;          // of the step's blocks, up to the end of the backward
  bool exact = true;                // false where a region depends on data: sizes are then upper bounds
};

}  // namespace reprise
