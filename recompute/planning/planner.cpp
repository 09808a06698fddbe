#include "recompute/planning/planner.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "recompute/methods.h"
#include "recompute/planning/kept_sets.h"

namespace reprise {

namespace {

constexpr int kMostRounds = 64;  // each one corrects at least one row; in practice one or two are needed

struct Named {
  const char* name;
  solver::Allowed allowed;
};
constexpr Named kMethods[] = {
    {"retain", {true, false, false}},       {"whole", {false, true, false}},
    {"region", {false, false, true}},       {"retain+whole", {true, true, false}},
    {"retain+region", {true, false, true}}, {"whole+region", {false, true, true}},
    {"joint", {true, true, true}},
};

StateOption fallback_of(const solver::Allowed& allowed) {
  return allowed.region ? StateOption::region : StateOption::whole;
}

solver::Allowed require_method(const std::string& method) {
  if (auto allowed = allowed_by(method)) return *allowed;
  std::string known;
  for (const Named& named : kMethods) known += (known.empty() ? "" : ", ") + std::string(named.name);
  fail(ErrorKind::user, "[plan] expected a method among {}; got '{}'", known, method);
}

bool uses(const solver::Use& use, const solver::Choice& choice) {
  bool option = use.options >> choice.options[static_cast<std::size_t>(use.segment)] & 1;
  return option && (use.read_class < 0 || choice.states[static_cast<std::size_t>(use.read_class)] == use.state);
}

}  // namespace

std::optional<solver::Allowed> allowed_by(const std::string& method) {
  for (const Named& named : kMethods) {
    if (method == named.name) return named.allowed;
  }
  return std::nullopt;
}

const std::vector<std::string>& plannable_methods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Named& named : kMethods) all.emplace_back(named.name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& all_methods() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = plannable_methods();
    all.emplace_back(to_string(Method::unchecked));
    return all;
  }();
  return names;
}

bool is_planned(const std::string& method) {
  std::optional<solver::Allowed> allowed = allowed_by(method);
  return allowed && allowed->retain + allowed->whole + allowed->region > 1;
}

Planner::Planner(Walker& walker, const Profile& profile, PlannerOptions options)
    : walker_(walker), profile_(profile), options_(std::move(options)), plain_(walker, simple_space(walker), profile) {
  if (options_.keep_values) with_kept_.emplace(walker, space_with_kept_values(walker, profile), profile);
}

const Problem& Planner::problem_of(const solver::Allowed& allowed) const {
  return allowed.retain && with_kept_ ? *with_kept_ : plain_;
}

Planner::Checked Planner::check(const Problem& problem, const solver::Choice& choice, StateOption fallback) const {
  Checked checked{choice, problem.assignment(choice, fallback), 0, {}};
  Walk walk = walker_.walk(checked.assignment);
  checked.peak = walk.schedule.peak.total_peak;
  checked.rows = std::move(walk.row_peaks);
  if (options_.worst_peak) checked.peak = std::max(checked.peak, options_.worst_peak(checked.assignment));
  return checked;
}

Planner::Answer Planner::plan(const std::string& method, std::int64_t budget) const {
  solver::Allowed allowed = require_method(method);
  Answer answer = solve_in(problem_of(allowed), method, allowed, budget);
  return answer.plan ? answer : plan_with_runs(method, allowed, budget, std::move(answer));
}

/// The plan of least time in one space of plans, walked.
Planner::Answer Planner::solve_in(Problem problem, const std::string& method, const solver::Allowed& allowed,
                                  std::int64_t budget) const {
  std::int64_t cap = budget > 0 ? budget : INT64_MAX / 4;
  for (int round = 0; round < kMostRounds; ++round) {
    solver::Solution solution = solver::solve(problem.instance(), cap, allowed);
    if (!solution.feasible) {
      Plan least = least_of(problem, method, allowed);
      if (least.predicted_peak > budget) {
        solution.smallest.bytes = least.predicted_peak;  // what was walked, where it differs from what was thought
        return {std::nullopt, {solver::infeasible_message(problem.instance(), budget, solution), least.predicted_peak}};
      }
      least.budget = budget;
      return {std::move(least), {}};
    }
    Checked checked = check(problem, solution.choice, fallback_of(allowed));
    if (budget == 0 || checked.peak <= budget) {
      Plan plan = describe(problem, method, checked, budget);
      plan.lower_bound_ns = std::min(solution.lower_bound_ns, plan.predicted_ns);
      plan.proven = solution.proven;
      plan.work = solution.work;
      return {std::move(plan), {}};
    }
    if (!problem.learn(solution.choice, checked.rows)) cap -= checked.peak - budget;  // another host state needs more
  }
  fail(ErrorKind::internal, "[plan] expected a plan of method {} to be found in {} rounds", method, kMostRounds);
}

std::vector<std::vector<RunOfSegments>> Planner::run_cuts(const solver::Allowed& allowed) const {
  std::vector<std::vector<RunOfSegments>> cuts;
  if (allowed.retain + allowed.whole + allowed.region < 2) return cuts;  // such a method is one plan
  for (std::uint32_t length = 2; length <= options_.longest_run; ++length) {
    std::vector<RunOfSegments> runs = cut_into_runs(plain_.units(), length);
    if (!runs.empty()) cuts.push_back(std::move(runs));
    if (length >= plain_.space().size()) break;
  }
  return cuts;
}

Problem Planner::problem_with(const std::vector<RunOfSegments>& runs, const solver::Allowed& allowed) const {
  return Problem(walker_, with_runs(problem_of(allowed).space(), runs), profile_);
}

Planner::Answer Planner::plan_with_runs(const std::string& method, const solver::Allowed& allowed, std::int64_t budget,
                                        Answer one_level) const {
  NoPlan none = one_level.none;
  std::optional<Plan> best;
  for (std::vector<RunOfSegments>& runs : run_cuts(allowed)) {
    Answer answer = solve_in(problem_with(runs, allowed), method, allowed, budget);
    if (!answer.plan) {
      if (answer.none.smallest_budget < none.smallest_budget) none = std::move(answer.none);
      continue;
    }
    // Runs that the budget does not need are taken apart again, one by one from the first.
    for (std::size_t r = 0; r < runs.size();) {
      std::vector<RunOfSegments> fewer = runs;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(r));
      Answer other = solve_in(problem_with(fewer, allowed), method, allowed, budget);
      bool faster = other.plan && other.plan->predicted_ns < answer.plan->predicted_ns;
      if (faster)
        answer = std::move(other), runs = std::move(fewer);
      else
        ++r;
    }
    if (!best || answer.plan->predicted_ns < best->predicted_ns) best = std::move(answer.plan);
  }
  if (best) {
    // The solver's bound holds for one cut into runs; this one for all: every segment at its cheapest.
    best->lower_bound_ns = plain_.instance().base_time_ns;
    best->proven = false;
    return {std::move(best), {}};
  }
  std::int64_t without = one_level.none.smallest_budget;
  if (none.smallest_budget < without)
    none.message += fmt::format("\n  (With two-level runs; without them {} bytes, {}.)", without, short_bytes(without));
  return {std::nullopt, std::move(none)};
}

Plan Planner::least(const std::string& method) const {
  solver::Allowed allowed = require_method(method);
  Plan best = least_of(problem_of(allowed), method, allowed);
  for (const std::vector<RunOfSegments>& runs : run_cuts(allowed)) {
    Plan plan = least_of(problem_with(runs, allowed), method, allowed);
    if (plan.predicted_peak < best.predicted_peak) best = std::move(plan);
  }
  return best;
}

Plan Planner::least_of(Problem problem, const std::string& method, const solver::Allowed& allowed) const {
  std::optional<Checked> best;
  solver::SmallestBudget smallest;
  for (int round = 0; round < kMostRounds; ++round) {
    smallest = solver::smallest_budget(problem.instance(), allowed);
    Checked checked = check(problem, smallest.choice, fallback_of(allowed));
    // Done when the walk found no more than the problem thought; else what it found is learnt and tried again.
    bool learnt = problem.learn(smallest.choice, checked.rows);
    if (!best || checked.peak < best->peak) best = std::move(checked);
    if (!learnt) break;
  }
  Plan plan = describe(problem, method, *best, best->peak);
  plan.lower_bound_ns = plan.predicted_ns;
  plan.proven = smallest.proven;
  plan.work = smallest.work;
  return plan;
}

namespace {

/// What one segment holds and costs under a choice.
PlannedSegment describe_segment(const Problem& problem, const solver::Choice& choice, std::uint32_t unit,
                                std::int64_t budget) {
  const solver::Instance& instance = problem.instance();
  const Unit& at = problem.units()[unit];
  std::size_t option = choice.options[unit];
  const SegmentChoice& chosen = problem.space()[at.segment][option];
  PlannedSegment segment{
      at.id, chosen.name, chosen.values == ValueOption::replay, chosen.run, chosen.run_ends, chosen.kept, 0, 0, 0,
      0,     ""};
  segment.replay_ns = instance.segments[unit].options[option].time_ns;
  for (const solver::Object& object : instance.objects) {
    const solver::Use* first = nullptr;
    bool mine = false, state = false;
    for (const solver::Use& use : object.uses) {
      if (!uses(use, choice)) continue;
      if (!first) first = &use;
      mine |= use.segment == static_cast<int>(unit);
      state |= use.read_class >= 0;
    }
    if (!mine) continue;
    if (state)
      segment.bytes_preserved += object.bytes;
    else if (object.birth == problem.units().forward_row(unit) + 1)
      segment.bytes_kept += object.bytes;
    if (first->segment == static_cast<int>(unit)) segment.move_ns += object.time_ns;
  }
  for (const solver::JointTime& joint : instance.joint_times) {
    bool mine = joint.segment == static_cast<int>(unit) && joint.options >> option & 1;
    if (mine && choice.states[static_cast<std::size_t>(joint.read_class)] == joint.state)
      segment.move_ns += joint.time_ns;
  }
  const auto& options = instance.segments[unit].options;
  if (!segment.replay) {
    std::int64_t saved = options.size() > 1 ? options[1].time_ns : 0;
    segment.why = fmt::format("keeping saves {:.2f} ms", static_cast<double>(saved) * 1e-6);
    return segment;
  }
  if (segment.run != 0) {
    segment.why = "in a two-level run: nothing one level deep fits";
    return segment;
  }
  solver::Choice flipped = choice;
  flipped.options[unit] = 0;
  solver::Evaluation kept = solver::evaluate(instance, flipped);
  if (budget > 0 && kept.peak > budget) {
    segment.why =
        fmt::format("retained, {} would be {} over", instance.row_names[static_cast<std::size_t>(kept.binding_row)],
                    short_bytes(kept.peak - budget));
  } else {
    segment.why = "as the method says";
  }
  return segment;
}

}  // namespace

Plan Planner::describe(const Problem& problem, const std::string& method, const Checked& checked,
                       std::int64_t budget) const {
  const solver::Instance& instance = problem.instance();
  Plan plan;
  plan.method = method;
  plan.granularity = options_.keep_values ? "node" : "segment";
  plan.made_for = options_.made_for;
  plan.budget = budget;
  plan.predicted_peak = checked.peak;
  plan.predicted_ns = solver::evaluate(instance, checked.choice).time_ns;
  auto binding = std::max_element(checked.rows.begin(), checked.rows.end()) - checked.rows.begin();
  plan.binding_row = problem.units().row_name(static_cast<int>(binding));
  plan.fallback = checked.assignment.fallback.state;
  plan.nodes = static_cast<std::uint32_t>(checked.assignment.choices.size());
  for (std::uint32_t s = 0; s < problem.space().size(); ++s) {
    std::uint32_t unit = problem.units().of_segment(s);
    if (unit != kNone)
      plan.segments.push_back(describe_segment(problem, checked.choice, unit, budget));
    else
      plan.segments.push_back({"(no nodes)", "retain", false, 0, false, {}, 0, 0, 0, 0, ""});
  }
  for (std::size_t c = 0; c < problem.classes().size(); ++c) {
    const std::vector<KillingWrite>& writes = problem.classes()[c];
    PlannedClass state{instance.classes[c].name, writes[0].node, writes[0].update, StateOption::whole, 0, {}};
    if (checked.choice.states[c] == solver::StateChoice::region) state.state = StateOption::region;
    std::vector<int> readers;
    for (const solver::Object& object : instance.objects) {
      bool here = false;
      for (const solver::Use& use : object.uses) {
        if (use.read_class != static_cast<int>(c) || !uses(use, checked.choice)) continue;
        here = true;
        readers.push_back(use.segment);
      }
      if (here) state.bytes += object.bytes;
    }
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (int unit : readers) state.readers.push_back(problem.units()[static_cast<std::size_t>(unit)].id);
    plan.classes.push_back(state);
    for (std::size_t w = 1; w < writes.size(); ++w) {  // listed beside it; the bytes are with the first
      plan.classes.push_back({state.storage, writes[w].node, writes[w].update, state.state, 0, {}});
    }
  }
  return plan;
}

}  // namespace reprise
