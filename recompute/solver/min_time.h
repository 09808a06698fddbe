// The plan of least time under a budget, from a plan that fits, with a bound from below.
//
// Called for every method. Relaxes, rounds, rules out options that no better plan can use, searches exactly among what
// is left, and where that is too much searches exactly around the best plan known.
#pragma once

#include <cstdint>
#include <vector>

#include "recompute/solver/domain.h"
#include "recompute/solver/effort.h"

namespace reprise::solver {

struct MinTime {
  Choice choice;
  std::int64_t time = 0;
  double lower_bound = 0;
  bool proven = false;
};

/// `seeds` lie in the domain; the first one fits under the budget.
MinTime min_time(const Instance& instance, const Domain& domain, const std::vector<Choice>& seeds, std::int64_t budget,
                 Effort& effort);

}  // namespace reprise::solver
