// The best prices that the search finds: rows are added as mixtures of plans exceed the budget there, and plans as the
// prices call for them.
//
// Called once or more for each problem. Invariant: `bound` holds with `rows`, `prices` and `splits` put into the dual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recompute/solver/dual.h"

namespace reprise::solver {

struct Relaxation {
  std::vector<std::int32_t> rows;  // kept rows with a price, or considered for one
  std::vector<double> prices;
  std::vector<double> splits;
  double bound = 0;               // ns; for Objective::peak bytes above the budget
  std::vector<Assignment> plans;  // met on the way; some exceed the budget
};

struct RelaxLimits {
  int rounds = 60;
  std::size_t rows = 16;
  int sweeps = 24;        // per round, at most
  int last_sweeps = 200;  // at the best prices
  std::int64_t work = 0;  // stop after that much; 0: none
};

/// `seeds` are plans to start from; at least one. The dual is left at the best prices and splits. Adds its work.
Relaxation relax(Dual& dual, Objective objective, const std::vector<Assignment>& seeds, const RelaxLimits& limits,
                 std::int64_t& work);

}  // namespace reprise::solver
