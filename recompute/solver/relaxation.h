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
  double enough = 1e300;  // stop once the bound is that high: more would not be used
};

/// A bound on times less what rounding can have added.
inline double without_rounding(double bound) { return bound - 1e-3 - 1e-12 * std::abs(bound); }

/// The bound with which nothing can take less time than `time`: times are whole.
inline double enough_for(std::int64_t time) {
  return static_cast<double>(time) + 3e-12 * std::abs(static_cast<double>(time)) - 1 + 3e-3;
}

/// `seeds` are plans to start from; at least one. The dual is left at the best prices and splits. Adds its work.
Relaxation relax(Dual& dual, Objective objective, const std::vector<Assignment>& seeds, const RelaxLimits& limits,
                 std::int64_t& work);

}  // namespace reprise::solver
