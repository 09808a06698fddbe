// Two-level runs: which neighbouring segments may be merged into runs, and the space of plans in which given runs are.
//
// A run pays one more replay of its segments for holding nothing between them, so runs are tried where no plan without
// them fits the budget, or where an easier problem says that they might save time.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "recompute/planning/plan.h"
#include "recompute/planning/problem.h"

namespace reprise {

/// Segments [first, last] of the step, replayed as one run.
struct RunOfSegments {
  std::uint32_t first = 0, last = 0;
  friend auto operator<=>(const RunOfSegments&, const RunOfSegments&) = default;
};

/// The step cut into runs of `length`, from its start on, as far as segments follow each other without nodes or a
/// backward between. Pieces of one segment are no runs.
std::vector<RunOfSegments> cut_into_runs(const Units& units, const StepRows& rows, std::uint32_t length);

/// The runs of a plan.
std::vector<RunOfSegments> runs_of(const Plan& plan);

/// `space` with the segments of `runs` bound to them.
PlanSpace with_runs(PlanSpace space, const std::vector<RunOfSegments>& runs);

}  // namespace reprise
