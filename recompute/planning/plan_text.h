// Plans as text for people: one plan as a table per segment, and several side by side.
// Used by the trainer and by `reprise plan`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recompute/planning/planner.h"

namespace reprise {

/// Per segment: option, bytes kept and preserved, replay and move time, why; then states, peak, time, bound and gap.
std::string plan_table(const Plan& plan);

/// One row of plans side by side; without a plan, what stands in the way.
struct PlanRow {
  std::string method;
  Planner::Answer answer;
};
std::string plans_side_by_side(const std::vector<PlanRow>& rows, std::int64_t budget);

/// In three lines: what was chosen, the peak, the time with its bound.
std::string plan_summary(const Plan& plan);

}  // namespace reprise
