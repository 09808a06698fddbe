// Brute force: every plan of a small instance, as an oracle that shares nothing with the solver but the evaluator.
// Called by tests only; refuses instances with more plans than it is given.
#pragma once

#include <cstdint>

#include "recompute/solver/evaluate.h"
#include "recompute/solver/instance.h"

namespace reprise::solver {

constexpr std::int64_t kMostPlans = 1 << 14;

struct BruteForce {
  bool feasible = false;
  Choice choice;  // of least time, then least peak, then fewest replays
  std::int64_t time_ns = 0;
  std::int64_t peak = 0;
  std::int64_t smallest_peak = 0;  // of any plan
};

/// How many plans a method has, or kMostPlans + 1 if more.
std::int64_t plan_count(const Instance& instance, const Allowed& allowed);

/// Errors (user): more than kMostPlans plans.
BruteForce brute_force(const Instance& instance, std::int64_t budget, const Allowed& allowed);

}  // namespace reprise::solver
