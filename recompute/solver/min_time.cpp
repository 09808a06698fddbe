#include "recompute/solver/min_time.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "recompute/solver/enforced.h"
#include "recompute/solver/evaluate.h"
#include "recompute/solver/local_search.h"
#include "recompute/solver/relaxation.h"

namespace reprise::solver {
namespace {

constexpr double kHalf = 0.5;                 // times are whole: what is within half a nanosecond cannot be better
constexpr std::size_t kExactVariables = 2500;  // more are searched around the best plan only

class TimeSearch {
 public:
  TimeSearch(const Instance& instance, const Domain& domain, std::int64_t budget, Effort& effort)
      : instance_(instance), domain_(domain), open_(domain), budget_(budget), effort_(effort) {}

  MinTime run(const std::vector<Choice>& seeds) {
    seeds_ = seeds;
    best_.choice = seeds.front();
    best_.time = evaluate(instance_, seeds.front()).time_ns;
    best_.lower_bound = -1e300;
    for (const Choice& seed : seeds) offer(seed);
    for (int round = 0; round < 6 && !best_.proven && !effort_.over(); ++round) {
      std::size_t before = open_count();
      std::int64_t time = best_.time;
      pass(round);
      if (best_.proven || (open_count() * 10 > before * 9 && best_.time == time)) break;
    }
    best_.lower_bound = std::min(best_.lower_bound, static_cast<double>(best_.time));
    return best_;
  }

 private:
  std::size_t open_count() const {
    std::size_t count = 0;
    for (std::uint64_t options : open_.options) count += std::popcount(options) - 1;
    for (std::uint8_t states : open_.states) count += states == 3 ? 1 : 0;
    return count;
  }

  void offer(const Choice& choice) {
    Evaluation evaluation = evaluate(instance_, choice);
    effort_.work += static_cast<std::int64_t>(instance_.segments.size());
    if (evaluation.peak > budget_ || evaluation.time_ns >= best_.time) return;
    best_.time = evaluation.time_ns;
    best_.choice = choice;
  }

  void raise(double bound) {
    best_.lower_bound = std::max(best_.lower_bound, std::min(bound, static_cast<double>(best_.time)));
    best_.proven = best_.lower_bound > static_cast<double>(best_.time) - 1 + 1e-6;
  }

  double cutoff() const { return static_cast<double>(best_.time) - kHalf; }

  /// The bound of a relaxation less what rounding can have added.
  static double safe(double bound) { return bound - 1e-3 - 1e-12 * std::abs(bound); }

  void pass(int round) {
    Model model = compile(instance_, open_, budget_);
    if (model.variables.empty()) {
      offer(to_choice(model, {}));
      raise(static_cast<double>(best_.time));
      return;
    }
    Dual dual(model, Objective::time);
    Relaxation relaxation = relax_model(dual, round);
    raise(safe(relaxation.bound));
    if (best_.proven) return;
    round_plans(dual, relaxation);
    rule_out(dual, relaxation.bound);
    if (best_.proven) return;
    if (model.variables.size() > kExactVariables) {
      search_around(dual);
      rule_out(dual, relaxation.bound);
    }
    Model left = compile(instance_, open_, budget_);
    if (left.variables.size() <= kExactVariables) exact(dual, relaxation, left);
  }

  Relaxation relax_model(Dual& dual, int round) {
    std::vector<Assignment> seeds;
    for (const Choice& seed : seeds_) seeds.push_back(to_assignment(dual.model(), seed));
    if (std::find(seeds_.begin(), seeds_.end(), best_.choice) == seeds_.end()) {
      seeds.push_back(to_assignment(dual.model(), best_.choice));
    }
    RelaxLimits limits;
    limits.work = effort_.left() / 3;
    limits.rounds = round == 0 ? 60 : 30;
    return relax(dual, Objective::time, seeds, limits, effort_.work);
  }

  /// The plans that the prices called for, brought under the budget and then made faster.
  void round_plans(const Dual& dual, const Relaxation& relaxation) {
    std::size_t most = dual.model().variables.size() > 20000 ? 4 : 10;
    std::size_t first = relaxation.plans.size() > most ? relaxation.plans.size() - most : 0;
    for (std::size_t i = relaxation.plans.size(); i-- > first && !effort_.over();) {
      improve(dual, relaxation.plans[i]);
    }
    improve(dual, to_assignment(dual.model(), best_.choice));
  }

  void improve(const Dual& dual, const Assignment& plan) {
    PlanState state(dual.model(), plan);
    if (state.fits() || repair(dual, state, std::max<std::int64_t>(1, effort_.left() / 20))) {
      hasten(dual, state, 3);
      offer(to_choice(dual.model(), state.assignment()));
    }
    effort_.work += state.work();
  }

  /// Options whose reduced cost lifts the bound to the best time cannot be part of a better plan.
  void rule_out(const Dual& dual, double bound) {
    const Model& model = dual.model();
    for (std::size_t v = 0; v < model.variables.size(); ++v) {
      const Variable& variable = model.variables[v];
      double least = dual.least(v);
      for (std::size_t o = 0; o < variable.options.size(); ++o) {
        if (safe(bound) + dual.cost(v, o) - least < cutoff()) continue;
        std::uint8_t source = variable.options[o].source;
        if (variable.is_class) {
          open_.states[variable.source] &= static_cast<std::uint8_t>(~(1U << source));
        } else {
          open_.options[variable.source] &= ~(std::uint64_t{1} << source);
        }
      }
    }
    bool emptied = std::any_of(open_.options.begin(), open_.options.end(), [](std::uint64_t o) { return o == 0; }) ||
                   std::any_of(open_.states.begin(), open_.states.end(), [](std::uint8_t s) { return s == 0; });
    if (emptied) raise(static_cast<double>(best_.time));
  }

  /// All that is left, with few partial plans first: a better plan found early rules out more.
  void exact(Dual& dual, Relaxation& relaxation, const Model& left) {
    Model model = left;
    Dual narrow(model, Objective::time);
    bool smaller = model.variables.size() < dual.model().variables.size() ||
                   model.rows() != dual.model().rows();
    if (smaller) {
      RelaxLimits limits;
      limits.rounds = 30;
      limits.work = effort_.left() / 3;
      relaxation = relax(narrow, Objective::time, {to_assignment(model, best_.choice)}, limits, effort_.work);
      raise(safe(relaxation.bound));
      if (best_.proven) return;
    }
    const Dual& used = smaller ? narrow : dual;
    double known = safe(relaxation.bound);
    for (std::size_t states : {100UL, 2000UL, 50000UL}) {
      if (effort_.over()) return;
      DynamicLimits limits{states, effort_.left() / 2, cutoff()};
      EnforcedResult result = run_enforced(used, Objective::time, relaxation.rows, limits, effort_.work);
      if (result.found) offer(to_choice(used.model(), result.plan));
      known = std::max(known, std::min(safe(result.dropped), static_cast<double>(best_.time)));
      raise(known);
      if (best_.proven) return;
      std::size_t before = open_count();
      rule_out(used, relaxation.bound);
      if (best_.proven || open_count() * 10 < before * 8) return;
    }
  }

  /// The variables whose choice is closest, all others as in the best plan.
  void search_around(const Dual& dual) {
    const Model& model = dual.model();
    std::vector<std::pair<double, std::int32_t>> margins;
    for (std::size_t v = 0; v < model.variables.size(); ++v) margins.emplace_back(margin(dual, v), v);
    std::sort(margins.begin(), margins.end());
    for (std::size_t count : {40UL, 80UL, 160UL, 320UL, 640UL}) {
      if (effort_.over()) return;
      Domain core = only(best_.choice);
      for (std::size_t i = 0; i < count && i < margins.size(); ++i) {
        const Variable& variable = model.variables[margins[i].second];
        if (variable.is_class) {
          core.states[variable.source] |= open_.states[variable.source];
        } else {
          core.options[variable.source] |= open_.options[variable.source];
        }
      }
      search_core(core);
    }
  }

  static double margin(const Dual& dual, std::size_t v) {
    double least = dual.least(v), second = 1e300;
    bool seen = false;
    for (std::size_t o = 0; o < dual.model().variables[v].options.size(); ++o) {
      double cost = dual.cost(v, o);
      if (cost == least && !seen) {
        seen = true;
      } else {
        second = std::min(second, cost);
      }
    }
    return second - least;
  }

  void search_core(const Domain& core) {
    Model model = compile(instance_, core, budget_);
    if (model.variables.empty()) return;
    Dual dual(model, Objective::time);
    RelaxLimits limits;
    limits.rounds = 25;
    limits.work = effort_.left() / 10;
    Relaxation relaxation =
        relax(dual, Objective::time, {to_assignment(model, best_.choice)}, limits, effort_.work);
    for (std::size_t i = relaxation.plans.size(); i-- > 0 && i + 4 > relaxation.plans.size();) {
      improve(dual, relaxation.plans[i]);
    }
    DynamicLimits dynamic{1000, effort_.left() / 10, cutoff()};
    EnforcedResult result = run_enforced(dual, Objective::time, relaxation.rows, dynamic, effort_.work);
    if (result.found) offer(to_choice(model, result.plan));
  }

  const Instance& instance_;
  const Domain& domain_;
  Domain open_;
  std::int64_t budget_;
  Effort& effort_;
  std::vector<Choice> seeds_;
  MinTime best_;
};

}  // namespace

MinTime min_time(const Instance& instance, const Domain& domain, const std::vector<Choice>& seeds, std::int64_t budget,
                 Effort& effort) {
  return TimeSearch(instance, domain, budget, effort).run(seeds);
}

}  // namespace reprise::solver
