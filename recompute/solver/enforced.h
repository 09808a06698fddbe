// The exact search with as few rows as it takes: rows are added when the plan found exceeds the budget in others.
//
// Called by the searches for time and peak. Leaving rows out can only let more plans through, so that a bound holds
// all the same; a plan is returned only if it fits in every row.
#pragma once

#include <cstdint>
#include <vector>

#include "recompute/solver/dynamic.h"

namespace reprise::solver {

struct EnforcedResult {
  bool found = false;
  Assignment plan;
  std::int64_t time = 0;
  double dropped = 1e300;
};

/// `rows` must be among the enforced ones.
EnforcedResult run_enforced(const Dual& dual, Objective objective, std::vector<std::int32_t> rows,
                            const DynamicLimits& limits, std::int64_t& work);

}  // namespace reprise::solver
