// The joint planner's solver: the best choice under a budget of bytes, with a lower bound that proves how good it is.
//
// Called by the planner for every method and budget. Invariant: a solution is feasible under evaluate_naive, no plan
// under the budget takes less than its lower bound, and the same arguments give the same solution: limits count units
// of work (about one candidate looked at each), never time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recompute/solver/evaluate.h"
#include "recompute/solver/instance.h"

namespace reprise::solver {

struct Limits {
  std::int64_t work = 0;    // units for each method that is solved; 0: by the size of the instance
  double wall_seconds = 0;  // 0: none. An emergency stop, which marks the solution
  bool explain = true;      // where nothing fits: find the smallest budget and what would help
  bool polish = true;       // of plans of the least time choose the best; else any, for who asks for the bound alone
};

/// A method that would fit, or would fit better, where the asked one does not.
struct Remedy {
  std::string allow;  // what to allow besides: "region", "retain and whole"
  std::int64_t smallest_budget = 0;
  bool fits = false;  // under the budget that was asked for
};

/// The smallest budget under which any choice is feasible, and what stands in the way of less.
struct SmallestBudget {
  std::int64_t bytes = 0;        // a feasible one
  std::int64_t lower_bound = 0;  // no choice needs less
  bool proven = false;           // both are equal
  Choice choice;                 // that needs `bytes`
  std::int32_t binding_row = 0;
  std::vector<Alive> alive;  // in the binding row, largest first
  std::int64_t work = 0;
  bool stopped_by_clock = false;
};

struct Solution {
  bool feasible = false;
  Choice choice;  // if feasible; else the one of smallest peak that was found
  std::int64_t time_ns = 0;
  std::int64_t peak = 0;
  std::int32_t binding_row = 0;
  std::int64_t lower_bound_ns = 0;
  double gap = 0;       // (time - lower bound) / time
  bool proven = false;  // no feasible choice takes less time; or none is feasible
  std::int64_t work = 0;
  bool stopped_by_clock = false;
  SmallestBudget smallest;       // filled where infeasible
  std::vector<Remedy> remedies;  // filled where infeasible
};

/// Errors (user): the instance is not valid, or nothing is allowed.
Solution solve(const Instance& instance, std::int64_t budget, const Allowed& allowed, const Limits& limits = {});

/// Whether a relaxation, which costs little beside solve(), shows that no choice under the budget takes less time than
/// `time_ns`; with a time that all choices keep to, that none fits.
bool nothing_faster(const Instance& instance, std::int64_t budget, const Allowed& allowed, std::int64_t time_ns);

/// Stops as soon as no choice can need less than `below`: the answer then needs no less.
SmallestBudget smallest_budget(const Instance& instance, const Allowed& allowed, const Limits& limits = {},
                               std::int64_t below = INT64_MAX);

/// The words for a budget under which nothing fits: smallest feasible budget, binding step, what is alive there, what
/// would have to be allowed.
std::string infeasible_message(const Instance& instance, std::int64_t budget, const Solution& solution);

}  // namespace reprise::solver
