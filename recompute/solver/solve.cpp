#include "recompute/solver/solve.h"

#include <algorithm>

#include "core/error.h"
#include "recompute/solver/domain.h"
#include "recompute/solver/effort.h"
#include "recompute/solver/min_peak.h"
#include "recompute/solver/min_time.h"
#include "recompute/solver/relaxation.h"
#include "recompute/solver/ties.h"

namespace reprise::solver {
namespace {

constexpr std::size_t kTiesUpTo = 400;  // segments; beyond, equal times are too rare for the work it takes

/// The methods in the order in which they are solved: each after those that it contains.
constexpr Allowed kMethods[] = {{true, false, false}, {false, true, false}, {false, false, true}, {true, true, false},
                                {true, false, true},  {false, true, true},  {true, true, true}};

bool contains(const Allowed& wide, const Allowed& narrow) {
  return (wide.retain || !narrow.retain) && (wide.whole || !narrow.whole) && (wide.region || !narrow.region);
}

void check(const Instance& instance, const Allowed& allowed) {
  if (!allowed.retain && !allowed.whole && !allowed.region) {
    fail(ErrorKind::user, "[planner] expected at least one of retain, whole and region to be allowed, got none.");
  }
  validate(instance);
}

std::int64_t work_limit(const Instance& instance, const Limits& limits) {
  if (limits.work > 0) return limits.work;
  return 60'000'000 + 4'000 * static_cast<std::int64_t>(instance.segments.size());
}

constexpr std::int64_t kPeakShare = 4;  // of a method's work goes into the smallest budget, at most

Effort effort_for(const Instance& instance, const Limits& limits, std::int64_t share = 1) {
  Effort effort;
  effort.limit = work_limit(instance, limits) / share;
  effort.wall_seconds = limits.wall_seconds;
  return effort;
}

/// The nearest choice in a domain: what is not open there gives way to the first that is.
Choice clipped(const Domain& domain, Choice choice) {
  Choice first = first_choice(domain);
  for (std::size_t i = 0; i < choice.options.size(); ++i) {
    if (((domain.options[i] >> choice.options[i]) & 1U) == 0) choice.options[i] = first.options[i];
  }
  for (std::size_t c = 0; c < choice.states.size(); ++c) {
    if (((domain.states[c] >> static_cast<int>(choice.states[c])) & 1U) == 0) choice.states[c] = first.states[c];
  }
  return choice;
}

/// Classes that nothing asks for are whole, so that methods which differ in nothing else are one.
Domain narrowed(const Instance& instance, const Allowed& allowed) {
  Domain domain = domain_of(instance, allowed);
  std::vector<bool> asked(domain.states.size(), false);
  for (const Object& object : instance.objects) {
    for (const Use& use : object.uses) {
      if (use.read_class >= 0 && (use.options & domain.options[use.segment]) != 0) asked[use.read_class] = true;
    }
  }
  for (const JointTime& joint : instance.joint_times) {
    if ((joint.options & domain.options[joint.segment]) != 0) asked[joint.read_class] = true;
  }
  for (std::size_t c = 0; c < asked.size(); ++c) {
    if (!asked[c]) domain.states[c] = 1;
  }
  return domain;
}

struct Solved {
  Allowed allowed;
  Domain domain;
  Solution solution;
};

/// What every solution carries is computed by the plain evaluators, the slow one where that is affordable.
void certify(const Instance& instance, std::int64_t budget, Solution& solution) {
  Evaluation evaluation = evaluate(instance, solution.choice);
  double size = static_cast<double>(instance.base.size()) * static_cast<double>(instance.objects.size() + 1);
  if (size < 5e6) REPRISE_INVARIANT(evaluation == evaluate_naive(instance, solution.choice));
  solution.time_ns = evaluation.time_ns;
  solution.peak = evaluation.peak;
  solution.binding_row = evaluation.binding_row;
  if (!solution.feasible) return;
  REPRISE_INVARIANT(evaluation.peak <= budget);
  solution.lower_bound_ns = std::min(solution.lower_bound_ns, solution.time_ns);
  if (solution.proven) solution.lower_bound_ns = solution.time_ns;
  if (solution.time_ns > 0) {
    solution.gap =
        static_cast<double>(solution.time_ns - solution.lower_bound_ns) / static_cast<double>(solution.time_ns);
  }
}

/// Of the plans that take as long the one with less memory, fewer replays, and earlier segments retained.
Choice polished(const Instance& instance, const Domain& domain, Choice choice, bool proven, Effort& effort) {
  if (instance.segments.size() <= kTiesUpTo) {
    if (proven) choice = with_less_memory(instance, domain, std::move(choice), effort);
    choice = with_earlier_retained(instance, domain, std::move(choice), effort);
  }
  return without_idle_replays(instance, domain, std::move(choice), effort);
}

Solution solve_domain(const Instance& instance, const Domain& domain, const std::vector<Choice>& known,
                      std::int64_t budget, const Limits& limits, bool polish) {
  Effort effort = effort_for(instance, limits), for_peak = effort_for(instance, limits, kPeakShare);
  Solution solution;
  std::vector<Choice> seeds;
  for (const Choice& choice : known) {
    Choice seed = clipped(domain, choice);
    if (evaluate(instance, seed).peak <= budget) seeds.push_back(std::move(seed));
  }
  if (seeds.empty()) {
    SmallestBudget smallest = min_peak(instance, domain, {}, budget, for_peak);
    if (smallest.bytes > budget) {
      solution.choice = smallest.choice;
      solution.proven = smallest.lower_bound > budget;
      solution.smallest = std::move(smallest);
    } else {
      seeds.push_back(smallest.choice);
    }
  }
  if (!seeds.empty()) {
    solution.feasible = true;
    MinTime found = min_time(instance, domain, seeds, budget, effort);
    solution.choice = found.choice;
    solution.proven = found.proven;
    solution.lower_bound_ns = static_cast<std::int64_t>(std::max(0.0, found.lower_bound));
    if (polish) solution.choice = polished(instance, domain, std::move(solution.choice), found.proven, effort);
  }
  solution.work = effort.work + for_peak.work;
  solution.stopped_by_clock = effort.stopped_by_clock || for_peak.stopped_by_clock;
  certify(instance, budget, solution);
  return solution;
}

/// No choice takes more.
std::int64_t longest_time(const Instance& instance) {
  std::int64_t time = instance.base_time_ns;
  for (const Segment& segment : instance.segments) {
    auto shorter = [](const Option& a, const Option& b) { return a.time_ns < b.time_ns; };
    time += std::max_element(segment.options.begin(), segment.options.end(), shorter)->time_ns;
  }
  for (const Object& object : instance.objects) time += object.time_ns;
  for (const JointTime& joint : instance.joint_times) time += joint.time_ns;
  return time;
}

std::string name_of(const Allowed& allowed) {
  std::string name;
  auto add = [&](bool on, const char* word) {
    if (on) name += (name.empty() ? "" : "+") + std::string(word);
  };
  add(allowed.retain, "retain");
  add(allowed.whole, "whole");
  add(allowed.region, "region");
  return name;
}

std::vector<Remedy> remedies_for(const Instance& instance, const Allowed& allowed, std::int64_t budget,
                                 const Limits& limits) {
  std::vector<Remedy> remedies;
  for (const Allowed& wider : kMethods) {
    if (!contains(wider, allowed) || contains(allowed, wider)) continue;
    SmallestBudget smallest = smallest_budget(instance, wider, limits);
    Allowed more{wider.retain && !allowed.retain, wider.whole && !allowed.whole, wider.region && !allowed.region};
    remedies.push_back({name_of(more), smallest.bytes, smallest.bytes <= budget});
  }
  return remedies;
}

}  // namespace

Solution solve(const Instance& instance, std::int64_t budget, const Allowed& allowed, const Limits& limits) {
  check(instance, allowed);
  std::vector<Solved> solved;
  std::int64_t work = 0;
  bool stopped = false;
  for (const Allowed& method : kMethods) {
    if (!contains(allowed, method)) continue;
    Domain domain = narrowed(instance, method);
    auto same = std::find_if(solved.begin(), solved.end(), [&](const Solved& s) { return s.domain == domain; });
    if (same != solved.end()) {
      solved.push_back({method, std::move(domain), same->solution});
      continue;
    }
    std::vector<Choice> known;
    for (const Solved& s : solved) {
      if (contains(method, s.allowed) && s.solution.feasible) known.push_back(s.solution.choice);
    }
    bool last = contains(method, allowed);
    Solution solution = solve_domain(instance, domain, known, budget, limits, limits.polish || !last);
    work += solution.work;
    stopped = stopped || solution.stopped_by_clock;
    solved.push_back({method, std::move(domain), std::move(solution)});
  }
  Solution solution = solved.back().solution;
  solution.choice = clipped(domain_of(instance, allowed), std::move(solution.choice));
  solution.work = work;
  solution.stopped_by_clock = stopped;
  if (!solution.feasible && limits.explain) {
    solution.smallest = smallest_budget(instance, allowed, limits);
    solution.remedies = remedies_for(instance, allowed, budget, limits);
    if (solution.smallest.bytes < solution.peak) {
      solution.choice = solution.smallest.choice;
      certify(instance, budget, solution);
    }
  }
  return solution;
}

bool nothing_faster(const Instance& instance, std::int64_t budget, const Allowed& allowed, std::int64_t time_ns) {
  check(instance, allowed);
  time_ns = std::min(time_ns, longest_time(instance) + 1);
  Model model = compile(instance, narrowed(instance, allowed), budget);
  if (std::any_of(model.base.begin(), model.base.end(), [&](std::int64_t b) { return b > budget; })) return true;
  if (model.variables.empty()) return model.base_time >= time_ns;
  Dual dual(model, Objective::time);
  RelaxLimits relax_limits;
  relax_limits.rounds = 30;
  relax_limits.last_sweeps = 40;
  relax_limits.work = effort_for(instance, {}).limit / 3;
  // A whole nanosecond more than it takes: near the smallest budget prices are so high that rounding shows.
  relax_limits.enough = enough_for(time_ns + 1);
  std::int64_t work = 0;
  Relaxation relaxation = relax(dual, Objective::time, {Assignment(model.variables.size(), 0)}, relax_limits, work);
  return without_rounding(relaxation.bound) > static_cast<double>(time_ns) + 1e-6;
}

SmallestBudget smallest_budget(const Instance& instance, const Allowed& allowed, const Limits& limits,
                               std::int64_t below) {
  check(instance, allowed);
  std::vector<std::pair<Domain, SmallestBudget>> known;
  SmallestBudget best;
  std::int64_t work = 0;
  // The method itself first; what it contains only where its own answer is not proven.
  Domain own = narrowed(instance, allowed);
  Effort effort = effort_for(instance, limits, kPeakShare);
  best = min_peak(instance, own, {}, std::nullopt, effort, below);
  work = best.work;
  for (const Allowed& method : kMethods) {
    if (best.proven || best.lower_bound >= below || !contains(allowed, method) || contains(method, allowed)) continue;
    Effort more = effort_for(instance, limits, kPeakShare);
    SmallestBudget other = min_peak(instance, narrowed(instance, method), {}, std::nullopt, more, below);
    work += other.work;
    if (other.bytes >= best.bytes) continue;
    other.lower_bound = best.lower_bound;
    other.proven = other.bytes <= best.lower_bound;
    best = std::move(other);
  }
  best.choice = clipped(domain_of(instance, allowed), std::move(best.choice));
  best.work = work;
  return best;
}

namespace {

/// "84869888 bytes, 80.9 MiB"; small sizes in bytes alone.
std::string readable(std::int64_t bytes) {
  double mib = static_cast<double>(bytes) / 1048576.0;
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (mib < 1) return fmt::format("{} bytes, {:.1f} KiB", bytes, mib * 1024);
  return mib < 1024 ? fmt::format("{} bytes, {:.1f} MiB", bytes, mib)
                    : fmt::format("{} bytes, {:.2f} GiB", bytes, mib / 1024);
}

}  // namespace

std::string infeasible_message(const Instance& instance, std::int64_t budget, const Solution& solution) {
  const SmallestBudget& smallest = solution.smallest;
  std::string row = instance.row_names.empty() ? fmt::format("row {}", smallest.binding_row)
                                               : instance.row_names[smallest.binding_row];
  std::string text = fmt::format("no plan fits under {}; the smallest feasible budget is {}", readable(budget),
                                 readable(smallest.bytes));
  if (!smallest.proven) text += fmt::format(" (the best found; nothing fits under {})", readable(smallest.lower_bound));
  text += fmt::format(".\n  The step that binds: {}.\n  Live there:", row);
  constexpr std::size_t kNamed = 6;
  std::int64_t others = 0;
  for (std::size_t i = 0; i < smallest.alive.size(); ++i) {
    if (i < kNamed) {
      text += fmt::format("{} {} ({})", i == 0 ? "" : ",", smallest.alive[i].name, readable(smallest.alive[i].bytes));
    } else {
      others += smallest.alive[i].bytes;
    }
  }
  if (others > 0) text += fmt::format(", {} others ({})", smallest.alive.size() - kNamed, readable(others));
  text += ".";
  bool any = false;
  for (const Remedy& remedy : solution.remedies) {
    if (!remedy.fits) continue;
    text += fmt::format("{} {} allowed, from {}", any ? " or" : "\n  It would fit with", remedy.allow,
                        readable(remedy.smallest_budget));
    any = true;
  }
  text += any ? "." : "\n  No further option would make it fit.";
  return text;
}

}  // namespace reprise::solver
