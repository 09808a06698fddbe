// The exact search: variables in order, all partial plans that could still become better than the best known plan, of
// which those are dropped that another one beats in every respect that the rest can see.
//
// Called with the prices and splits of the relaxation. What the rest can see of a partial plan is the levels of objects
// and the states of classes that are still open, its bytes in the rows that are still open, and its time.
// Invariant: no plan that meets the budget in the given rows has a bound below both `dropped` and the cutoff, except
// through the plan returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recompute/solver/dual.h"

namespace reprise::solver {

struct DynamicLimits {
  std::size_t states = 20000;  // kept after each variable
  std::int64_t work = 0;       // 0: none
  double cutoff = 0;           // plans with a bound at or above it are of no interest
};

struct DynamicResult {
  bool found = false;
  Assignment plan;  // the best of those that were followed to the end
  std::int64_t time = 0;
  double dropped = 1e300;  // least bound of what was dropped for want of room or work
};

/// `rows`: the kept rows in which the budget is enforced, ascending. Adds its work.
DynamicResult run_dynamic(const Dual& dual, Objective objective, const std::vector<std::int32_t>& rows,
                          const DynamicLimits& limits, std::int64_t& work);

/// How many numbers per partial plan it takes to enforce the budget in these rows, at the widest place.
std::size_t width_of(const Model& model, const std::vector<std::int32_t>& rows);

}  // namespace reprise::solver
