// The joint planner of one step: builds the problem once for a granularity and a profile, then answers for any method
// and budget: a plan whose peak was walked and whose time is certified, or what stands in the way.
//
// Used by the trainer, `reprise plan` and `reprise explain --plan`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recompute/planning/plan.h"
#include "recompute/planning/planned_methods.h"
#include "recompute/planning/problem.h"
#include "recompute/planning/runs.h"
#include "recompute/solver/solve.h"

namespace reprise {

struct PlannerOptions {
  /// Granularity `node`: where a method may retain, replayed segments may keep single results too.
  bool keep_values = true;
  std::uint32_t longest_run = 8;  // of a two-level run, in segments; 1: none are tried
  PlanPrint made_for;
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
  /// The walker must outlive the planner, which goes on walking with it.
  Planner(Walker& walker, const Profile& profile, PlannerOptions options);

  struct Answer {
    std::optional<Plan> plan;
    NoPlan none;  // filled where there is no plan
  };
  /// `budget` in bytes; 0 is none. The answer is a plan exactly where the budget is at least the peak of least(method).
  /// Errors (user): no method of that name.
  Answer plan(const std::string& method, std::int64_t budget) const;
  /// The plan of least peak that was found; its budget is its own peak.
  const Plan& least(const std::string& method) const;

  /// With every segment either retained or replayed as a whole.
  const Problem& problem() const { return plain_; }

 private:
  struct Checked {
    solver::Choice choice;
    Assignment assignment;
    std::int64_t peak = 0;  // over all host states
    std::vector<std::int64_t> rows;
  };
  struct Least {  // what a smallest feasible budget is made of
    Plan plan;
    solver::SmallestBudget smallest;
  };
  struct Found {
    std::optional<Plan> plan;
    std::int64_t bound_ns = INT64_MAX;  // of all plans of the method, two-level runs included where they are tried
    std::int64_t work = 0;
  };
  struct Polished {  // a plan made better, in the problem whose choice it is
    const Problem* problem = nullptr;
    Checked checked;
    MeasuredBytes bytes;
  };
  using Runs = std::vector<RunOfSegments>;
  static constexpr int kMostRounds = 64;  // of a search: each corrects at least one row; one or two are usual
  static constexpr int kRunRounds = 8;    // the same for one set of runs, of which there are many

  Checked check(const Problem& problem, const solver::Choice& choice, StateOption fallback) const;
  Plan describe(const Problem& problem, const std::string& method, const Checked& checked, std::int64_t budget) const;

  const std::optional<Plan>& best(const PlannedMethod& method, std::int64_t budget) const;
  std::optional<Plan> search(const PlannedMethod& method, std::int64_t budget) const;
  Found solve_in(const Problem& problem, const PlannedMethod& method, std::int64_t budget) const;
  Found solve_with_runs(const Problem& problem, const PlannedMethod& method, std::int64_t budget,
                        const std::optional<Plan>& beat) const;
  Checked flipped(const Problem& problem, const PlannedMethod& method, MeasuredBytes& bytes, Checked best,
                  std::int64_t budget) const;
  Checked with_idle_retained(const Problem& problem, const PlannedMethod& method, MeasuredBytes& bytes, Checked best,
                             std::int64_t bound_ns) const;
  std::optional<std::pair<const Problem*, solver::Choice>> find_again(const Plan& plan,
                                                                      const PlannedMethod& method) const;
  std::optional<Polished> polished(const Plan& plan, const PlannedMethod& method, std::int64_t bound_ns) const;
  static void take(Found& best, Found found);
  void try_runs(const PlannedMethod& method, std::int64_t budget, Found& best) const;
  std::int64_t bound(const Problem& problem, const OwnBytes& own, const PlannedMethod& method, std::int64_t cap) const;

  solver::Choice uniform(const Problem& problem, const PlannedMethod& method) const;
  std::int64_t easy_peak(const PlannedMethod& method) const;
  bool fits_one_level(const PlannedMethod& method, std::int64_t budget) const;
  const Least& least_of(const PlannedMethod& method, bool runs) const;
  Least least_without_budget(const PlannedMethod& method, const Least& beat) const;
  Least least_in(const Problem& problem, const PlannedMethod& method) const;
  std::optional<Least> less_in(const Problem& problem, const PlannedMethod& method, const Least& beat) const;
  Least describe_least(const Problem& problem, const PlannedMethod& method, const MeasuredBytes& bytes,
                       const Checked& best, std::int64_t bound, std::int64_t work) const;
  Least least_with_runs(const PlannedMethod& method) const;
  NoPlan nothing_fits(const PlannedMethod& method, std::int64_t budget) const;

  bool may_run(const PlannedMethod& method) const;
  std::vector<Runs> run_cuts(const PlannedMethod& method) const;
  const Problem& problem_of(const PlannedMethod& method) const;
  std::vector<const Problem*> problems_of(const PlannedMethod& method) const;
  const Problem& problem_with(const Runs& runs, const Runs& cut, const PlannedMethod& method) const;
  std::optional<std::pair<Runs, Runs>> runs_and_cut(const Plan& plan, const PlannedMethod& method) const;
  const Problem& problem_of_cut(const Runs& cut) const;
  std::vector<std::int64_t> restore_times() const;

  Walker& walker_;
  Profile profile_;
  PlannerOptions options_;
  Problem plain_;
  std::optional<Problem> with_kept_;
  std::vector<std::int64_t> restore_ns_;  // per unit
  // What was asked before is not worked out again; none of it changes a later answer.
  mutable std::map<std::pair<std::string, std::int64_t>, std::optional<Plan>> plans_;
  mutable std::map<std::pair<std::string, bool>, Least> leasts_;
  enum class Space { kept, plain, cut };
  mutable std::map<std::pair<Space, std::vector<std::uint32_t>>, Problem> with_runs_;
};

}  // namespace reprise
