// Better plans near a plan that was walked: a faster one that fits too, and one that replays nothing for nothing.
//
// Note on neighbours. A plan has as many as the step has segments and classes. They are told from the plan by what one
// choice changes (PlanState), so that looking at all of them takes about as long as looking at the plan a few times.
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "recompute/planning/planner.h"
#include "recompute/solver/domain.h"
#include "recompute/solver/evaluate.h"
#include "recompute/solver/model.h"
#include "recompute/solver/plan_state.h"

namespace reprise {

namespace {

constexpr int kMostWalks = 40;  // of each search below
// A row that is thought to be over the peak may still fit: blocks round and merge, and what rows follow from data is
// charged more than once. A walk decides, of those first that are thought to be over by 1 / kNearPeak of it at most;
// not where a row is over by more than 1 / kFarPeak.
constexpr std::int64_t kNearPeak = 256, kFarPeak = 16;

/// One choice of a plan made otherwise: of a segment, or of a class.
struct Neighbour {
  std::int64_t time = 0, peak = 0;  // as thought; of the peak only what is over the model's budget counts
  bool is_class = false;
  std::int32_t at = 0;  // number of the segment or class
  std::uint8_t to = 0;

  solver::Choice of(solver::Choice choice) const {
    auto index = static_cast<std::size_t>(at);
    if (is_class)
      choice.states[index] = static_cast<solver::StateChoice>(to);
    else
      choice.options[index] = to;
    return choice;
  }
};

/// All neighbours of `choice` that the model's domain has and `wanted` wants, segments first, in order of the step.
template <class Wanted>
std::vector<Neighbour> neighbours_of(const solver::Model& model, const solver::Choice& choice, Wanted&& wanted) {
  solver::PlanState state(model, solver::to_assignment(model, choice));
  std::vector<Neighbour> all;
  for (std::size_t v = 0; v < model.variables.size(); ++v) {
    const solver::Variable& variable = model.variables[v];
    std::uint8_t old = state.assignment()[v];
    for (std::size_t o = 0; o < variable.options.size(); ++o) {
      if (o == old) continue;
      state.set(v, static_cast<std::uint8_t>(o));
      Neighbour other{state.time(), state.peak(), variable.is_class, variable.source, variable.options[o].source};
      if (wanted(other)) all.push_back(other);
    }
    state.set(v, old);
  }
  std::sort(all.begin(), all.end(), [](const Neighbour& a, const Neighbour& b) {
    return std::tie(a.is_class, a.at, a.to) < std::tie(b.is_class, b.at, b.to);
  });
  return all;
}

}  // namespace

/// `best`, or a neighbour of it that is faster: one choice made otherwise, walked where it could fit.
Planner::Checked Planner::flipped(const Problem& problem, const PlannedMethod& method, MeasuredBytes& bytes,
                                  Checked best, std::int64_t cap) const {
  solver::Instance hopeful = problem.with(bytes.least);
  solver::Model model = solver::compile(hopeful, solver::domain_of(hopeful, method.allowed), cap);
  std::int64_t time = solver::evaluate(hopeful, best.choice).time_ns;
  auto faster = [&](const Neighbour& other) { return other.time < time && other.peak <= cap; };
  int walks = 0;
  for (bool changed = true; changed && walks < kMostWalks;) {
    changed = false;
    std::vector<Neighbour> all = neighbours_of(model, best.choice, faster);
    std::stable_sort(all.begin(), all.end(), [](const Neighbour& a, const Neighbour& b) { return a.time < b.time; });
    for (const Neighbour& other : all) {
      if (++walks > kMostWalks) break;
      Checked checked = check(problem, other.of(best.choice), method.fallback());
      problem.learn(bytes, checked.choice, checked.rows);
      if (checked.peak > cap) continue;
      best = std::move(checked);
      time = other.time;
      changed = true;
      break;
    }
  }
  return best;
}

namespace {

/// The segments that a walked plan replays and might retain for no time and no byte of its peak; those first that are
/// the likelier to fit. A row is thought to hold what the plan was walked to hold there, but for the rows of the
/// segment itself, where the other option holds other bytes.
std::vector<Neighbour> idle_replays(const Problem& problem, const solver::Allowed& allowed, OwnBytes own,
                                    const solver::Choice& choice, const std::vector<std::int64_t>& rows) {
  problem.raise(own, choice, rows, -1);
  solver::Instance thought = problem.with(own);
  std::int64_t peak = *std::max_element(rows.begin(), rows.end());
  std::int64_t near = peak + peak / kNearPeak, far = peak + peak / kFarPeak;
  std::int64_t time = solver::evaluate(thought, choice).time_ns;
  solver::Model model = solver::compile(thought, solver::domain_of(thought, allowed), near);
  std::vector<Neighbour> idle = neighbours_of(model, choice, [&](const Neighbour& other) {
    if (other.is_class || other.time > time || other.peak > far) return false;
    const auto& options = thought.segments[static_cast<std::size_t>(other.at)].options;
    return options[other.to].retain && !options[choice.options[static_cast<std::size_t>(other.at)]].retain;
  });
  std::stable_partition(idle.begin(), idle.end(), [&](const Neighbour& other) { return other.peak <= near; });
  return idle;
}

}  // namespace

/// `best`, with each replayed segment retained that costs no byte of its peak. Where the bound is met nothing faster
/// fits, and what would be is not walked.
Planner::Checked Planner::with_idle_retained(const Problem& problem, const PlannedMethod& method, MeasuredBytes& bytes,
                                             Checked best, std::int64_t bound_ns) const {
  if (!method.allowed.retain) return best;
  StateOption fallback = best.assignment.fallback.state;
  std::set<std::int32_t> tried;  // since the last time that all were
  bool changed = false;
  for (int walks = 0; walks < kMostWalks;) {
    std::vector<Neighbour> idle = idle_replays(problem, method.allowed, bytes.least, best.choice, best.rows);
    std::erase_if(idle, [&](const Neighbour& n) { return n.time < bound_ns || tried.contains(n.at); });
    if (idle.empty() && !changed) break;
    if (idle.empty()) tried.clear(), changed = false;
    for (const Neighbour& other : idle) {
      if (++walks > kMostWalks) break;
      tried.insert(other.at);
      Checked checked = check(problem, other.of(best.choice), fallback);
      problem.learn(bytes, checked.choice, checked.rows);
      if (checked.peak > best.peak) continue;
      best = std::move(checked);
      changed = true;
      break;
    }
  }
  return best;
}

/// `plan` again as a choice in one of the problems in which the method's plans are looked for, or nothing.
std::optional<std::pair<const Problem*, solver::Choice>> Planner::find_again(const Plan& plan,
                                                                             const PlannedMethod& method) const {
  std::vector<const Problem*> problems = problems_of(method);
  if (auto runs = runs_and_cut(plan, method)) problems = {&problem_with(runs->first, runs->second, method)};
  for (const Problem* problem : problems) {
    std::optional<solver::Choice> choice = problem->choice_of(plan);
    if (choice && solver::evaluate(problem->instance(), *choice).time_ns == plan.predicted_ns)
      return std::pair(problem, std::move(*choice));
  }
  return std::nullopt;
}

/// The plan of a narrower method, or one with two-level runs, as the method would leave it: with no idle replay. What
/// comes back takes no more time and no more bytes.
std::optional<Planner::Polished> Planner::polished(const Plan& plan, const PlannedMethod& method,
                                                   std::int64_t bound_ns) const {
  auto replays = [](const PlannedSegment& segment) { return segment.replay; };
  if (!method.allowed.retain || std::none_of(plan.segments.begin(), plan.segments.end(), replays)) return std::nullopt;
  auto again = find_again(plan, method);
  if (!again) return std::nullopt;
  Polished result{again->first, {}, again->first->measured()};
  Checked now = check(*result.problem, again->second, plan.fallback);
  if (now.peak > plan.predicted_peak) return std::nullopt;
  result.problem->learn(result.bytes, now.choice, now.rows);
  result.checked = with_idle_retained(*result.problem, method, result.bytes, std::move(now), bound_ns);
  if (result.checked.choice == again->second) return std::nullopt;
  return result;
}

}  // namespace reprise
