#include "recompute/solver/ties.h"

#include <algorithm>
#include <optional>

#include "recompute/solver/enforced.h"
#include "recompute/solver/evaluate.h"
#include "recompute/solver/plan_state.h"
#include "recompute/solver/relaxation.h"

namespace reprise::solver {
namespace {

/// A plan with a peak below `peak` that takes at most `time`, if the search finds one.
bool find_below(const Instance& instance, const Domain& domain, std::int64_t peak, std::int64_t time, Choice& choice,
                Effort& effort) {
  Model model = compile(instance, domain, peak - 1);
  if (std::any_of(model.base.begin(), model.base.end(), [&](std::int64_t b) { return b >= peak; })) return false;
  if (model.variables.empty()) return false;
  Dual dual(model, Objective::time);
  RelaxLimits limits;
  limits.rounds = 15;
  limits.last_sweeps = 40;
  limits.work = effort.left() / 4;
  limits.enough = static_cast<double>(time) * (1 + 1e-12) + 1 + 1e-3;
  Relaxation relaxation = relax(dual, Objective::time, {to_assignment(model, choice)}, limits, effort.work);
  DynamicLimits dynamic{500, effort.left() / 4, static_cast<double>(time) + 0.5};
  if (relaxation.bound >= dynamic.cutoff + 0.5) return false;
  EnforcedResult result = run_enforced(dual, Objective::time, relaxation.rows, dynamic, effort.work);
  if (!result.found || result.time > time) return false;
  choice = to_choice(model, result.plan);
  return true;
}

}  // namespace

Choice with_less_memory(const Instance& instance, const Domain& domain, Choice choice, Effort& effort) {
  Evaluation best = evaluate(instance, choice);
  for (int step = 0; step < 40 && !effort.over(); ++step) {
    Choice other = choice;
    if (!find_below(instance, domain, best.peak, best.time_ns, other, effort)) break;
    Evaluation found = evaluate(instance, other);
    if (found.time_ns > best.time_ns || found.peak >= best.peak) break;
    choice = std::move(other);
    best = std::move(found);
  }
  return choice;
}

Choice without_idle_replays(const Instance& instance, const Domain& domain, Choice choice, Effort& effort) {
  Model model = compile(instance, domain, evaluate(instance, choice).peak);
  PlanState state(model, to_assignment(model, choice));
  for (int pass = 0; pass < 3; ++pass) {
    bool changed = false;
    for (std::size_t v = 0; v < model.variables.size(); ++v) {
      const Variable& variable = model.variables[v];
      if (variable.is_class) continue;
      const auto& options = instance.segments[variable.source].options;
      std::uint8_t old = state.assignment()[v];
      if (options[variable.options[old].source].retain) continue;
      for (std::size_t o = 0; o < variable.options.size(); ++o) {
        if (!options[variable.options[o].source].retain) continue;
        std::int64_t time = state.time();
        state.set(v, static_cast<std::uint8_t>(o));
        if (state.fits() && state.time() <= time) {
          changed = true;
          break;
        }
        state.set(v, old);
      }
    }
    if (!changed) break;
  }
  effort.work += state.work();
  return to_choice(model, state.assignment());
}

namespace {

/// The retaining option of a variable, or none.
std::optional<std::uint8_t> retaining(const Instance& instance, const Variable& variable) {
  const auto& options = instance.segments[variable.source].options;
  for (std::size_t o = 0; o < variable.options.size(); ++o) {
    if (options[variable.options[o].source].retain) return static_cast<std::uint8_t>(o);
  }
  return std::nullopt;
}

}  // namespace

Choice with_earlier_retained(const Instance& instance, const Domain& domain, Choice choice, Effort& effort) {
  Model model = compile(instance, domain, evaluate(instance, choice).peak);
  PlanState state(model, to_assignment(model, choice));
  std::vector<std::size_t> segments;  // that may be either, in order of the step
  for (std::size_t v = 0; v < model.variables.size(); ++v) {
    const Variable& variable = model.variables[v];
    if (!variable.is_class && variable.options.size() > 1 && retaining(instance, variable)) segments.push_back(v);
  }
  std::sort(segments.begin(), segments.end(),
            [&](std::size_t a, std::size_t b) { return model.variables[a].source < model.variables[b].source; });
  /// Retains `early` and replays `late` instead, if that changes neither time nor fit.
  auto trade = [&](std::size_t early, std::size_t late) {
    std::uint8_t old_early = state.assignment()[early], old_late = state.assignment()[late];
    std::int64_t time = state.time();
    state.set(early, *retaining(instance, model.variables[early]));
    for (std::size_t o = 0; o < model.variables[late].options.size(); ++o) {
      if (o == old_late) continue;
      state.set(late, static_cast<std::uint8_t>(o));
      if (state.time() == time && state.fits()) return true;
    }
    state.set(early, old_early);
    state.set(late, old_late);
    return false;
  };
  for (std::size_t i = 0; i < segments.size() && !effort.over(); ++i) {
    if (state.assignment()[segments[i]] == *retaining(instance, model.variables[segments[i]])) continue;
    for (std::size_t j = segments.size(); --j > i;) {
      if (state.assignment()[segments[j]] != *retaining(instance, model.variables[segments[j]])) continue;
      if (trade(segments[i], segments[j])) break;
    }
  }
  effort.work += state.work();
  return to_choice(model, state.assignment());
}

}  // namespace reprise::solver
