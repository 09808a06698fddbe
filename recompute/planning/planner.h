// The joint planner of one step: builds the problem once for a granularity and a profile, then answers for any method
// and budget: a plan whose peak was walked and whose time is certified, or what stands in the way.
//
// Used by the trainer, `reprise plan` and `reprise explain --plan`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recompute/planning/plan.h"
#include "recompute/planning/problem.h"
#include "recompute/planning/runs.h"
#include "recompute/solver/solve.h"

namespace reprise {

/// "retain+region" and so on: the options that a method may use. Null for a name that is no method.
std::optional<solver::Allowed> allowed_by(const std::string& method);
/// The seven methods, the narrow ones first.
const std::vector<std::string>& plannable_methods();
/// What recompute.method may be: the seven, then the negative control `unchecked`.
const std::vector<std::string>& all_methods();
/// Whether the method chooses between options. The others are fixed: each of them has one plan, or needs none.
bool is_planned(const std::string& method);

struct PlannerOptions {
  /// Granularity `node`: where a method may retain, replayed segments may keep single results too.
  bool keep_values = true;
  std::uint32_t longest_run = 8;  // of a two-level run, in segments; 1: none are tried
  PlanPrint made_for;
  /// The highest peak under an assignment over all host states in which a step may begin; null: only the walker's.
  std::function<std::int64_t(const Assignment&)> worst_peak;
};

// Note on the methods. `retain`, `whole` and `region` are one plan each: all segments retained, or all replayed with
// nothing kept, one level deep; the trainer runs them without a planner. The others choose, and may use two-level runs.

/// No plan of the method fits the budget.
struct NoPlan {
  std::string message;               // with the words "smallest feasible budget"
  std::int64_t smallest_budget = 0;  // bytes; a plan of this peak was walked
};

class Planner {
 public:
  Planner(Walker& walker, const Profile& profile, PlannerOptions options);

  struct Answer {
    std::optional<Plan> plan;
    NoPlan none;  // filled where there is no plan
  };
  /// `budget` in bytes; 0 is none. Errors (user): no method of that name.
  Answer plan(const std::string& method, std::int64_t budget) const;
  /// The plan of least peak that was found; its budget is its own peak.
  Plan least(const std::string& method) const;

  /// With every segment either retained or replayed as a whole.
  const Problem& problem() const { return plain_; }

 private:
  struct Checked {
    solver::Choice choice;
    Assignment assignment;
    std::int64_t peak = 0;  // over all host states
    std::vector<std::int64_t> rows;
  };
  Checked check(const Problem& problem, const solver::Choice& choice, StateOption fallback) const;
  Plan describe(const Problem& problem, const std::string& method, const Checked& checked, std::int64_t budget) const;
  Answer solve_in(Problem problem, const std::string& method, const solver::Allowed& allowed,
                  std::int64_t budget) const;
  std::vector<std::vector<RunOfSegments>> run_cuts(const solver::Allowed& allowed) const;
  Problem problem_with(const std::vector<RunOfSegments>& runs, const solver::Allowed& allowed) const;
  const Problem& problem_of(const solver::Allowed& allowed) const;
  Answer plan_with_runs(const std::string& method, const solver::Allowed& allowed, std::int64_t budget,
                        Answer one_level) const;
  Plan least_of(Problem problem, const std::string& method, const solver::Allowed& allowed) const;

  Walker& walker_;
  Profile profile_;
  PlannerOptions options_;
  Problem plain_;
  std::optional<Problem> with_kept_;
};

}  // namespace reprise
