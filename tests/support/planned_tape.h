// A tape with bytes that goes by a plan, as a training does: its options, its schedule, its peak counted from here on.
// Called by tests of the planner and of random programs, which hold what is measured against what was predicted.
#pragma once

#include "autograd/tape.h"
#include "recompute/planning/assignment.h"

namespace reprise::testing {

/// `tape` is empty; `assignment` and `schedule` are of the step that it records next. All of them outlive that step,
/// and so does this.
class PlannedTape {
 public:
  PlannedTape(Tape& tape, const Assignment& assignment, const Schedule& schedule) {
    policy_.assign(&assignment);
    tape.set_policy(&policy_);
    tape.follow(&schedule);
    tape.memory().meter().reset_peak();
  }
  PlannedTape(const PlannedTape&) = delete;
  PlannedTape& operator=(const PlannedTape&) = delete;

 private:
  AssignmentPolicy policy_;
};

}  // namespace reprise::testing
