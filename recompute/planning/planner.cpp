#include "recompute/planning/planner.h"

#include <algorithm>

#include "recompute/planning/kept_sets.h"

namespace reprise {

namespace {

constexpr int kHopefulRounds = 12;    // in which rows are only thought to hold what such a plan was seen to hold
constexpr double kWorthFlips = 1e-3;  // of the step's time: a smaller gap is left as it is
constexpr std::int64_t kNoBudget = INT64_MAX / 4;
// Two-level runs are tried where they might save more than this share of the step; what they leave is in the gap.
constexpr double kWorthARun = 0.005;

std::vector<std::uint32_t> key_of_runs(const std::vector<RunOfSegments>& runs) {
  std::vector<std::uint32_t> key;
  for (const RunOfSegments& run : runs) key.insert(key.end(), {run.first, run.last});
  return key;
}

}  // namespace

Planner::Planner(Walker& walker, const Profile& profile, PlannerOptions options)
    : walker_(walker), profile_(profile), options_(std::move(options)), plain_(walker, simple_space(walker), profile) {
  if (options_.keep_values)
    with_kept_.emplace(walker, space_with_kept_values(walker, profile), profile, plain_.record_parts());
  restore_ns_ = restore_times();
}

// ---- spaces of plans

/// The spaces in which plans of a method are looked for, the widest first.
std::vector<const Problem*> Planner::problems_of(const PlannedMethod& method) const {
  if (!method.allowed.retain || !with_kept_) return {&plain_};
  return {&*with_kept_, &plain_};
}

const Problem& Planner::problem_of(const PlannedMethod& method) const { return *problems_of(method).front(); }

bool Planner::may_run(const PlannedMethod& method) const {
  return !method.is_one_plan() && options_.longest_run > 1 && !cut_into_runs(plain_.units(), plain_.rows(), 2).empty();
}

std::vector<Planner::Runs> Planner::run_cuts(const PlannedMethod& method) const {
  std::vector<Runs> cuts;
  if (!may_run(method)) return cuts;
  for (std::uint32_t length = 2; length <= options_.longest_run; ++length) {
    Runs runs = cut_into_runs(plain_.units(), plain_.rows(), length);
    if (!runs.empty()) cuts.push_back(std::move(runs));
    if (length >= plain_.space().size()) break;
  }
  return cuts;
}

const Problem& Planner::problem_with(const Runs& runs, const Runs& cut, const PlannedMethod& method) const {
  const Problem& base = problem_of(method);
  std::pair key{&base == &plain_ ? Space::plain : Space::kept, key_of_runs(runs)};
  std::vector<std::uint32_t> of_cut = key_of_runs(cut);  // two cuts may have a short run in common
  key.second.insert(key.second.end(), of_cut.begin(), of_cut.end());
  auto at = with_runs_.find(key);
  if (at != with_runs_.end()) return at->second;
  Problem made(base, problem_of_cut(cut), with_runs(base.space(), runs), profile_);
  return with_runs_.emplace(std::move(key), std::move(made)).first->second;
}

/// All runs of a cut at once, all other segments replayed: two walks.
const Problem& Planner::problem_of_cut(const Runs& cut) const {
  std::pair key{Space::cut, key_of_runs(cut)};
  auto at = with_runs_.find(key);
  if (at != with_runs_.end()) return at->second;
  PlanSpace space = with_runs(plain_.space(), cut);
  for (auto& options : space) options.erase(options.begin(), options.end() - 1);
  return with_runs_.try_emplace(std::move(key), walker_, std::move(space), profile_, plain_.record_parts())
      .first->second;
}

/// What it takes to replay each unit once more for what the next one needs of it, as in a run.
std::vector<std::int64_t> Planner::restore_times() const {
  const Units& units = plain_.units();
  std::vector<std::int64_t> times(units.size(), 0);
  for (std::size_t parity : {0u, 1u}) {
    Assignment assignment;
    assignment.segments.assign(plain_.space().size(), {ValueOption::replay, StateOption::region});
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t u = static_cast<std::uint32_t>(parity); u + 1 < units.size(); u += 2) {
      if (units[u].segment == kNone || units[u + 1].segment == kNone || !plain_.rows().joined(u + 1)) continue;
      firsts.push_back(u);
      for (std::uint32_t end : {0u, 1u}) {
        SegmentOption& option = assignment.segments[units[u + end].segment];
        option.run = static_cast<std::uint32_t>(firsts.size());
        option.run_ends = end == 1;
      }
    }
    if (firsts.empty()) continue;
    const Walk& walk = walker_.walk(assignment);
    for (std::uint32_t u : firsts) {
      for (std::uint32_t node : walk.restored[units[u].segment])
        times[u] += profile_.micro_batches * profile_.replay_of(node);
    }
  }
  return times;
}

/// The first cut that has all runs of `plan`, if it has any.
std::optional<std::pair<Planner::Runs, Planner::Runs>> Planner::runs_and_cut(const Plan& plan,
                                                                             const PlannedMethod& method) const {
  Runs runs = runs_of(plan);
  if (runs.empty()) return std::nullopt;
  for (Runs& cut : run_cuts(method)) {
    if (std::includes(cut.begin(), cut.end(), runs.begin(), runs.end()))
      return std::pair(std::move(runs), std::move(cut));
  }
  return std::nullopt;
}

// ---- plans

Planner::Checked Planner::check(const Problem& problem, const solver::Choice& choice, StateOption fallback) const {
  Checked checked{choice, problem.assignment(choice, fallback), 0, {}};
  const Walk& walk = walker_.walk_all(checked.assignment);
  checked.peak = walk.peak;
  checked.rows = walk.row_peaks;
  return checked;
}

Planner::Answer Planner::plan(const std::string& method, std::int64_t budget) const {
  const PlannedMethod& asked = planned_method(method);
  if (const std::optional<Plan>& plan = best(asked, budget)) return {plan, {}};
  return {std::nullopt, nothing_fits(asked, budget)};
}

/// The best plan of the method and of those that it contains.
const std::optional<Plan>& Planner::best(const PlannedMethod& method, std::int64_t budget) const {
  auto at = plans_.find({method.name, budget});
  if (at != plans_.end()) return at->second;
  std::optional<Plan> best = search(method, budget);
  for (const PlannedMethod& other : planned_methods()) {
    if (!best || !method.contains(other)) continue;
    // What two-level runs might make of it is below the bound already, and dear to find out.
    if (best->proven && !fits_one_level(other, budget)) continue;
    const std::optional<Plan>& narrow = this->best(other, budget);
    if (!narrow || !is_better(*narrow, *best)) continue;
    std::int64_t bound = std::min(best->lower_bound_ns, narrow->predicted_ns), work = best->work + narrow->work;
    best = narrow;
    best->method = method.name;
    best->lower_bound_ns = bound;
    best->proven = bound == best->predicted_ns;
    best->work = work;
  }
  if (best) {
    if (std::optional<Polished> better = polished(*best, method, best->lower_bound_ns)) {
      std::int64_t bound = best->lower_bound_ns, work = best->work;
      best = describe(*better->problem, method.name, better->checked, budget);
      best->lower_bound_ns = std::min(bound, best->predicted_ns);
      best->proven = best->lower_bound_ns == best->predicted_ns;
      best->work = work;
    }
  }
  return plans_.emplace(std::pair(method.name, budget), std::move(best)).first->second;
}

/// Whether a plan without two-level runs keeps to the budget.
bool Planner::fits_one_level(const PlannedMethod& method, std::int64_t budget) const {
  return budget == 0 || budget >= easy_peak(method) || budget >= least_of(method, false).plan.predicted_peak;
}

/// The best that is found in the method's own spaces; nothing where its least peak is above the budget.
std::optional<Plan> Planner::search(const PlannedMethod& method, std::int64_t budget) const {
  bool one_level = fits_one_level(method, budget);
  if (!one_level && budget < least_of(method, true).plan.predicted_peak) return std::nullopt;
  Found best;
  if (one_level) {
    for (const Problem* problem : problems_of(method)) {
      bool proven = best.plan && best.plan->predicted_ns <= best.bound_ns;
      if (!proven) take(best, solve_in(*problem, method, budget));
    }
  } else {
    best.bound_ns = bound(problem_of(method), problem_of(method).measured().least, method, budget);
  }
  double saving = best.plan ? static_cast<double>(best.plan->predicted_ns - best.bound_ns) : 0;
  if (!best.plan || saving > kWorthARun * static_cast<double>(best.plan->predicted_ns)) try_runs(method, budget, best);
  if (!best.plan || !one_level) {
    const Plan& least = least_of(method, !one_level).plan;
    if (!best.plan || is_better(least, *best.plan)) best.plan = least;
  }
  best.plan->budget = budget;
  best.plan->lower_bound_ns = std::min(best.bound_ns, best.plan->predicted_ns);
  best.plan->proven = best.plan->lower_bound_ns == best.plan->predicted_ns;
  best.plan->work = best.work;
  return std::move(best.plan);
}

/// Of plans the better one; of bounds the lower, since a plan may be in either space.
void Planner::take(Found& best, Found found) {
  if (found.plan && (!best.plan || is_better(*found.plan, *best.plan))) best.plan = std::move(found.plan);
  best.bound_ns = std::min(best.bound_ns, found.bound_ns);
  best.work += found.work;
}

/// The plan of least time in one space of plans, walked. First rows are thought to hold the least that any plan was
/// seen to hold there, so that none is ruled out that would fit; each plan that does not fit corrects that.
Planner::Found Planner::solve_in(const Problem& problem, const PlannedMethod& method, std::int64_t budget) const {
  std::int64_t cap = budget > 0 ? budget : kNoBudget;
  StateOption fallback = method.fallback();
  MeasuredBytes bytes = problem.measured();
  OwnBytes own = bytes.least;
  Found found;
  for (int round = 0; round < kMostRounds; ++round) {
    if (round == kHopefulRounds) own = bytes.most;
    solver::Solution solution = solver::solve(problem.with(own), cap, method.allowed, {.explain = false});
    found.work += solution.work;
    if (!solution.feasible) break;
    Checked checked = check(problem, solution.choice, fallback);
    problem.learn(bytes, checked.choice, checked.rows);
    if (checked.peak <= cap) {
      found.bound_ns = bound(problem, bytes.least, method, cap);
      Plan plan = describe(problem, method.name, checked, budget);
      if (plan.predicted_ns > found.bound_ns) {
        OwnBytes least = bytes.least;
        auto gap = static_cast<double>(plan.predicted_ns - found.bound_ns);
        if (gap > kWorthFlips * static_cast<double>(plan.predicted_ns))
          checked = flipped(problem, method, bytes, std::move(checked), cap);
        checked = with_idle_retained(problem, method, bytes, std::move(checked), found.bound_ns);
        plan = describe(problem, method.name, checked, budget);
        if (bytes.least != least) found.bound_ns = bound(problem, bytes.least, method, cap);
      }
      found.plan = std::move(plan);
      return found;
    }
    if (!problem.raise(own, checked.choice, checked.rows, cap)) break;
  }
  found.bound_ns = bound(problem, bytes.least, method, cap);
  return found;
}

/// No plan of the method within `cap` takes less, two-level runs included: rows hold the least that was ever measured.
std::int64_t Planner::bound(const Problem& problem, const OwnBytes& own, const PlannedMethod& method,
                            std::int64_t cap) const {
  solver::Instance eased = may_run(method) ? problem.with_runs_eased(own, restore_ns_) : problem.with(own);
  solver::Solution solution = solver::solve(eased, cap, method.allowed, {.explain = false, .polish = false});
  return solution.feasible ? solution.lower_bound_ns : problem.instance().base_time_ns;
}

/// The plan of least time with given runs, where it is faster than `beat`. Rows are thought to hold the least that was
/// seen, so that nothing is walked where even such a plan would not be faster. Neighbours are not tried, and no bound
/// is worked out: one set of runs says nothing of the others.
Planner::Found Planner::solve_with_runs(const Problem& problem, const PlannedMethod& method, std::int64_t budget,
                                        const std::optional<Plan>& beat) const {
  Found found;
  MeasuredBytes bytes = problem.measured();
  OwnBytes own = bytes.least;
  for (int round = 0; round < kRunRounds; ++round) {
    solver::Instance instance = problem.with(own);
    if (beat && instance.base_time_ns >= beat->predicted_ns) break;
    std::int64_t time = beat ? beat->predicted_ns : INT64_MAX;
    if (solver::nothing_faster(instance, budget, method.allowed, time)) break;
    solver::Solution solution = solver::solve(instance, budget, method.allowed, {.explain = false});
    found.work += solution.work;
    if (!solution.feasible || (beat && solution.time_ns >= beat->predicted_ns)) break;
    Checked checked = check(problem, solution.choice, method.fallback());
    if (checked.peak <= budget) {
      found.plan = describe(problem, method.name, checked, budget);
      break;
    }
    if (!problem.raise(own, checked.choice, checked.rows, budget)) break;
  }
  return found;
}

/// Cuts into runs of each length; runs that the budget does not need are taken apart again, one by one from the first.
void Planner::try_runs(const PlannedMethod& method, std::int64_t budget, Found& best) const {
  for (const Runs& cut : run_cuts(method)) {
    Runs runs = cut;
    Found found = solve_with_runs(problem_with(runs, cut, method), method, budget, std::nullopt);
    for (std::size_t r = 0; found.plan && r < runs.size();) {
      Runs fewer = runs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(r));
      Found other = solve_with_runs(problem_with(fewer, cut, method), method, budget, found.plan);
      found.work += other.work;
      if (other.plan && is_better(*other.plan, *found.plan))
        found.plan = std::move(other.plan), runs = std::move(fewer);
      else
        ++r;
    }
    found.bound_ns = best.bound_ns;  // one cut's own bound says nothing of the others
    take(best, std::move(found));
  }
}

}  // namespace reprise
