// Changes of single variables that bring a plan under the budget, make it faster, or lower its peak.
//
// Called by the searches for plans of least time and of least peak. Invariant: a plan that fits still fits afterwards.
#pragma once

#include <cstdint>

#include "recompute/solver/dual.h"
#include "recompute/solver/plan_state.h"

namespace reprise::solver {

/// Takes bytes from the row that exceeds the budget most, cheapest time per byte first. False: it did not get there.
bool repair(const Dual& dual, PlanState& state, std::int64_t work_limit);

/// Takes every single change that saves time and still fits, those of least priced cost first; several passes.
void hasten(const Dual& dual, PlanState& state, int passes);

/// Lowers the peak by single changes that help in the row that binds.
void flatten(PlanState& state, std::int64_t work_limit);

}  // namespace reprise::solver
