// The plan of least peak, times ignored: the smallest budget under which anything fits, with a bound from below.
//
// Called where a budget is asked for, and where no plan is known that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "recompute/solver/domain.h"
#include "recompute/solver/effort.h"
#include "recompute/solver/solve.h"

namespace reprise::solver {

/// With a target, stops as soon as a plan at or below it is found, or none can exist; and as soon as none below `below`
/// can. `seeds` lie in the domain.
SmallestBudget min_peak(const Instance& instance, const Domain& domain, const std::vector<Choice>& seeds,
                        std::optional<std::int64_t> target, Effort& effort, std::int64_t below = INT64_MAX);

}  // namespace reprise::solver
