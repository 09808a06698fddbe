// The planner's plans of least peak, and what it says where no plan fits a budget.
#include <algorithm>

#include "core/text.h"
#include "recompute/planning/planner.h"
#include "recompute/solver/domain.h"
#include "recompute/solver/evaluate.h"

namespace reprise {

/// The choice in which every segment does the same, as the method's narrowest does.
solver::Choice Planner::uniform(const Problem& problem, const PlannedMethod& method) const {
  const solver::Instance& instance = problem.instance();
  solver::Choice choice = solver::first_choice(solver::domain_of(instance, method.allowed));
  for (std::size_t u = 0; u < choice.options.size(); ++u) {
    bool replays = method.allowed.whole || method.allowed.region;
    if (replays && instance.segments[u].options.size() > 1) choice.options[u] = 1;
  }
  if (method.allowed.region) std::fill(choice.states.begin(), choice.states.end(), solver::StateChoice::region);
  return choice;
}

/// A peak that a plan of the method keeps to, known without a search; the least is no higher.
std::int64_t Planner::easy_peak(const PlannedMethod& method) const {
  return check(plain_, uniform(plain_, method), method.fallback()).peak;
}

const Plan& Planner::least(const std::string& method) const { return least_of(planned_method(method), true).plan; }

const Planner::Least& Planner::least_of(const PlannedMethod& method, bool runs) const {
  runs = runs && may_run(method);
  auto at = leasts_.find({method.name, runs});
  if (at != leasts_.end()) return at->second;
  Least best = runs ? least_with_runs(method) : least_in(problem_of(method), method);
  auto take = [&](Least other) {
    if (other.plan.predicted_peak >= best.plan.predicted_peak) return;
    other.smallest.lower_bound = std::min(best.smallest.lower_bound, other.smallest.bytes);
    other.smallest.proven = other.smallest.bytes <= other.smallest.lower_bound;
    best = std::move(other);
  };
  if (!runs && &problem_of(method) != &plain_) take(least_in(plain_, method));
  for (const PlannedMethod& narrow : planned_methods()) {
    if (method.contains(narrow)) take(least_of(narrow, runs));
  }
  if (!runs && !method.is_one_plan()) take(least_without_budget(method, best));
  best.plan.method = method.name;
  if (std::optional<Polished> better = polished(best.plan, method, 0)) {
    best = describe_least(*better->problem, method, better->bytes, better->checked, best.smallest.lower_bound,
                          best.plan.work);
  }
  return leasts_.emplace(std::pair(method.name, runs), std::move(best)).first->second;
}

/// The plan of least time without a budget, where it holds less than `beat`: what is fastest may be frugal too. Else
/// `beat`.
Planner::Least Planner::least_without_budget(const PlannedMethod& method, const Least& beat) const {
  const std::optional<Plan>& fastest = best(method, 0);
  if (!fastest || fastest->predicted_peak >= beat.plan.predicted_peak) return beat;
  auto again = find_again(*fastest, method);
  if (!again) return beat;
  auto& [problem, choice] = *again;
  Checked checked = check(*problem, choice, fastest->fallback);
  MeasuredBytes bytes = problem->measured();
  problem->learn(bytes, checked.choice, checked.rows);
  return describe_least(*problem, method, bytes, checked, beat.smallest.lower_bound, beat.plan.work);
}

Planner::Least Planner::least_in(const Problem& problem, const PlannedMethod& method) const {
  std::optional<Checked> best;
  MeasuredBytes bytes = problem.measured();
  OwnBytes own = bytes.least;
  std::int64_t bound = 0, work = 0;
  if (&problem == &plain_) best = check(problem, uniform(problem, method), method.fallback());
  for (int round = 0; round < kMostRounds; ++round) {
    std::int64_t below = best ? best->peak : INT64_MAX;
    solver::SmallestBudget smallest = solver::smallest_budget(problem.with(own), method.allowed, {}, below);
    if (round == 0) bound = smallest.lower_bound;
    work += smallest.work;
    if (best && smallest.bytes >= best->peak) break;  // nothing below the best is even hoped for
    Checked checked = check(problem, smallest.choice, method.fallback());
    problem.learn(bytes, checked.choice, checked.rows);
    bool more = problem.raise(own, checked.choice, checked.rows, smallest.bytes);
    if (!best || checked.peak < best->peak) best = std::move(checked);
    if (!more) break;
  }
  best = with_idle_retained(problem, method, bytes, std::move(*best), 0);
  return describe_least(problem, method, bytes, *best, bound, work);
}

Planner::Least Planner::describe_least(const Problem& problem, const PlannedMethod& method, const MeasuredBytes& bytes,
                                       const Checked& best, std::int64_t bound, std::int64_t work) const {
  Least least{describe(problem, method.name, best, best.peak), {}};
  auto binding = std::max_element(best.rows.begin(), best.rows.end()) - best.rows.begin();
  least.smallest.bytes = best.peak;
  least.smallest.lower_bound = method.is_one_plan() ? best.peak : std::min(bound, best.peak);
  least.smallest.proven = least.smallest.lower_bound == best.peak;
  least.smallest.binding_row = static_cast<std::int32_t>(binding);
  solver::Instance seen = problem.with(bytes.most);
  least.smallest.alive = solver::alive_in_row(seen, best.choice, least.smallest.binding_row);
  std::int64_t rest = best.peak;
  for (const solver::Alive& alive : least.smallest.alive) rest -= alive.bytes;
  if (rest > 0) least.smallest.alive.push_back({"more in another state of the host", rest});
  least.plan.lower_bound_ns = least.plan.predicted_ns;
  least.plan.work = work;
  return least;
}

/// The plan of least peak with given runs, where that is less than `beat` needs. Walks only what is hoped to be less.
std::optional<Planner::Least> Planner::less_in(const Problem& problem, const PlannedMethod& method,
                                               const Least& beat) const {
  std::optional<Checked> best;
  MeasuredBytes bytes = problem.measured();
  OwnBytes own = bytes.least;
  std::int64_t least = beat.plan.predicted_peak, work = 0;
  for (int round = 0; round < kRunRounds; ++round) {
    solver::SmallestBudget smallest = solver::smallest_budget(problem.with(own), method.allowed, {}, least);
    work += smallest.work;
    if (smallest.bytes >= least) break;
    Checked checked = check(problem, smallest.choice, method.fallback());
    problem.learn(bytes, checked.choice, checked.rows);
    bool more = problem.raise(own, checked.choice, checked.rows, smallest.bytes);
    if (checked.peak < least) least = checked.peak, best = std::move(checked);
    if (!more) break;
  }
  if (!best) return std::nullopt;
  return describe_least(problem, method, bytes, *best, 0, work);
}

Planner::Least Planner::least_with_runs(const PlannedMethod& method) const {
  Least best = least_of(method, false);
  // What runs might reach at best, for the words "nothing fits under".
  const Problem& problem = problem_of(method);
  solver::Instance eased = problem.with_runs_eased(problem.measured().least, restore_ns_);
  std::int64_t bound = best.smallest.lower_bound;
  bound = std::min(bound, solver::smallest_budget(eased, method.allowed, {}, bound).lower_bound);
  for (const Runs& cut : run_cuts(method)) {
    Runs runs = cut;
    if (std::optional<Least> least = less_in(problem_with(runs, cut, method), method, best)) best = std::move(*least);
    for (std::size_t r = 0; r < runs.size();) {
      Runs fewer = runs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(r));
      std::optional<Least> other = less_in(problem_with(fewer, cut, method), method, best);
      if (other)
        best = std::move(*other), runs = std::move(fewer);
      else
        ++r;
    }
  }
  best.smallest.lower_bound = std::min(bound, best.smallest.bytes);
  best.smallest.proven = best.smallest.lower_bound == best.smallest.bytes;
  return best;
}

NoPlan Planner::nothing_fits(const PlannedMethod& method, std::int64_t budget) const {
  const Least& least = least_of(method, true);
  solver::Solution solution;
  solution.smallest = least.smallest;
  for (const PlannedMethod& wide : planned_methods()) {
    if (!wide.contains(method)) continue;
    std::string more;
    auto add = [&](bool on, const char* word) {
      if (on) more += (more.empty() ? "" : "+") + std::string(word);
    };
    add(wide.allowed.retain && !method.allowed.retain, "retain");
    add(wide.allowed.whole && !method.allowed.whole, "whole");
    add(wide.allowed.region && !method.allowed.region, "region");
    if (more.empty()) continue;
    std::int64_t bytes = least_of(wide, true).plan.predicted_peak;
    solution.remedies.push_back({std::move(more), bytes, bytes <= budget});
  }
  NoPlan none{solver::infeasible_message(plain_.instance(), budget, solution), least.plan.predicted_peak};
  std::int64_t without = least_of(method, false).plan.predicted_peak;
  if (least.plan.predicted_peak < without)
    none.message += fmt::format("\n  (With two-level runs; without them {} bytes, {}.)", without, short_bytes(without));
  return none;
}

}  // namespace reprise
