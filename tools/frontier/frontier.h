// The frontier: step time against budget for the seven methods, from the smallest feasible budget to no recomputation,
// as CSV and as a picture. Used by `reprise plan --frontier`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/train/make_plan.h"

namespace reprise {

struct FrontierPoint {
  std::string method;
  std::int64_t budget = 0;  // bytes
  Plan plan;
  std::int64_t measured_ns = 0;  // of a step; 0: not measured
  double spread = 0;             // of what was measured
  std::int64_t measured_peak = 0;
  std::int64_t reference_ns = 0;  // of a step of Frontier::reference, run right before
};

struct Frontier {
  std::string granularity;
  Plan reference;  // of least peak, as the profiled one is: how fast the machine is while a point is measured
  std::vector<FrontierPoint> points;                           // by method, budgets ascending
  std::vector<std::pair<std::string, std::int64_t>> smallest;  // smallest feasible budget of each method
  std::vector<std::int64_t> levels;                            // ascending; each method that fits has a point at each
};

/// `budgets`: how many levels between the smallest feasible budget of all and the peak without recomputation.
Frontier make_frontier(RunPlanner& planner, int budgets = 24);

/// Runs the plans of each method at its smallest budget and at some that are the same for all, so that methods can be
/// compared (steps as recompute.profile_steps says), and notes what they took, and what the reference took right
/// before; equal plans of a method run once.
void measure_frontier(const Config& config, Frontier& frontier);

/// By how much of itself the prediction is off: measured over predicted - 1, both as they are and as multiples of the
/// reference, of which the machine's speed falls out.
double off_by(const FrontierPoint& point);
double off_beside_reference(const Frontier& frontier, const FrontierPoint& point);

std::string frontier_csv(const Frontier& frontier);
/// `coarse` may be null: the frontier of the same step at granularity `segment`, of which joint is drawn too.
std::string frontier_svg(const Frontier& frontier, const std::string& title, const Frontier* coarse = nullptr);

/// Makes the folder and writes frontier.csv and frontier.svg (with granularity node also those of `segment`).
/// Returns an exit code.
int write_frontier(const Config& config, RunPlanner& planner, const std::string& folder, bool measure);

}  // namespace reprise
