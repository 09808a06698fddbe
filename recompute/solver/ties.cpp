#include "recompute/solver/ties.h"

#include <algorithm>

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

}  // namespace reprise::solver
