// Schedule: what one recorded step will do, known before it runs. A tape that follows one owes exactly what the step's
// needed sets ask for, checks every node against it, and checks the sequence of memory events at each phase's end.
//
// Made by recompute/plan_step.h from dry traces of the same code that then runs, so the peak it tells is the peak that
// is measured. It may hold several forwards and several backwards, in any order, and other tapes of the same memory may
// take part. A departure is an error before the backward, with nothing moved. No trace knows of a backward that fails,
// a user's hook, a backward of other values, what host code writes before it, or what a tape does that was not there:
// from there on the tape goes its way without the schedule, and preserves what is then overwritten as it comes.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/leaf.h"
#include "autograd/op.h"
#include "autograd/value.h"
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

/// One backward of the step. What is counted begins where the tape began to follow.
struct ScheduledBackward {
  std::vector<ValueId> roots;
  bool keep = false;
  Trail begin, end;              // memory events until it begins, and until it has ended
  std::uint64_t host_saves = 0;  // writes of host code before it that have had owed bytes saved
  std::uint64_t others = 0;      // what other tapes of the memory have done before it (Tape::others_acts)
};

struct Schedule {
  std::vector<ScheduledNode> nodes;
  std::vector<NodeChoice> choices;           // per node, or empty
  bool draft = false;                        // being made: only the choices count
  std::vector<ScheduledBackward> backwards;  // in their order; after the last one nothing is told
  MeterSnapshot peak;                        // of the dry step, up to the end of its last backward
  PlacementPlan placement;                   // of the step's blocks
  bool exact = true;                         // false where a region depends on data: sizes are then upper bounds
};

/// A schedule that is being made, with what has to be put back between two passes.
struct ScheduleInMaking {
  Schedule schedule;
  std::vector<LeafRef> given_gradients;  // leaves for which the draft has made an accumulator
  bool by_data = false;                  // a region depends on data
  bool keep_all = false;                 // every backward keeps what it uses: the tape is to be looked at afterwards
};

struct TapeData;

/// Notes in a draft what the nodes of a tape owe as a backward begins. They may owe less when another one does.
void note_owed(const TapeData& data, Schedule& draft);

}  // namespace reprise
