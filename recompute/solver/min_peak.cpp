#include "recompute/solver/min_peak.h"

#include <algorithm>
#include <cmath>

#include "recompute/solver/dynamic.h"
#include "recompute/solver/enforced.h"
#include "recompute/solver/local_search.h"
#include "recompute/solver/relaxation.h"

namespace reprise::solver {
namespace {

class PeakSearch {
 public:
  PeakSearch(const Instance& instance, const Domain& domain, std::optional<std::int64_t> target, Effort& effort,
             std::int64_t below)
      : instance_(instance), domain_(domain), target_(target), effort_(effort), below_(below) {}

  SmallestBudget run(const std::vector<Choice>& seeds) {
    offer(first_choice(domain_));
    for (const Choice& seed : seeds) offer(seed);
    offer_smallest_own();
    relax_and_round();
    bisect();
    best_.proven = best_.lower_bound >= best_.bytes;
    if (best_.proven) best_.lower_bound = best_.bytes;
    Evaluation evaluation = evaluate(instance_, best_.choice);
    best_.binding_row = evaluation.binding_row;
    best_.alive = alive_in_row(instance_, best_.choice, evaluation.binding_row);
    return best_;
  }

 private:
  bool done() const {
    if (best_.lower_bound >= std::min(best_.bytes, below_)) return true;
    return target_ && (best_.bytes <= *target_ || best_.lower_bound > *target_);
  }

  void offer(const Choice& choice) {
    std::int64_t peak = evaluate(instance_, choice).peak;
    effort_.work += static_cast<std::int64_t>(instance_.segments.size());
    if (!have_ || peak < best_.bytes) {
      best_.bytes = peak;
      best_.choice = choice;
      have_ = true;
    }
  }

  /// Every segment at the last of its open options: replays come after retaining.
  void offer_smallest_own() {
    Choice choice = first_choice(domain_);
    for (std::size_t i = 0; i < choice.options.size(); ++i) {
      for (std::size_t o = 0; o < instance_.segments[i].options.size(); ++o) {
        if ((domain_.options[i] >> o) & 1U) choice.options[i] = static_cast<std::uint8_t>(o);
      }
    }
    offer(choice);
  }

  void relax_and_round() {
    // With a budget that no row can meet every row is kept; the base alone is a bound.
    Model all = compile(instance_, domain_, -1);
    best_.lower_bound = all.base.empty() ? 0 : *std::max_element(all.base.begin(), all.base.end());
    if (done()) return;
    Model model = compile(instance_, domain_, best_.lower_bound);
    Dual dual(model, Objective::peak);
    RelaxLimits limits;
    limits.work = effort_.left() / 4;
    limits.enough = enough(model.budget);
    Relaxation relaxation = relax(dual, Objective::peak, {to_assignment(model, best_.choice)}, limits, effort_.work);
    raise(model.budget, relaxation.bound);
    for (const Assignment& plan : relaxation.plans) offer(to_choice(model, plan));
    for (std::size_t i = 0; i < 4 && i < relaxation.plans.size() && !done() && !effort_.over(); ++i) {
      flatten_from(model, relaxation.plans[relaxation.plans.size() - 1 - i]);
    }
    if (!done()) flatten_from(model, to_assignment(model, best_.choice));
  }

  void flatten_from(const Model& model, const Assignment& plan) {
    PlanState state(model, plan);
    flatten(state, std::max<std::int64_t>(1, effort_.left() / 8));
    effort_.work += state.work();
    offer(to_choice(model, state.assignment()));
  }

  /// The bound of a relaxation that raise() takes to the best plan, or to where nothing is of interest.
  double enough(std::int64_t budget) const {
    auto missing = static_cast<double>(std::min(best_.bytes, below_) - budget - 1);
    return missing + 3e-3 + 2e-9 * static_cast<double>(budget);
  }

  void raise(std::int64_t budget, double bound) {
    double safe = bound - 1e-3 - 1e-9 * static_cast<double>(budget);
    if (safe > 0) best_.lower_bound = std::max(best_.lower_bound, budget + static_cast<std::int64_t>(std::ceil(safe)));
  }

  /// One step below the best first, since what was found is often the least; then halves. The target only ends the
  /// sequence and never steers it: so what fits under one budget is found under every larger one.
  void bisect() {
    bool first = true;
    while (!done() && !effort_.over()) {
      std::int64_t middle = best_.lower_bound + (best_.bytes - 1 - best_.lower_bound) / 2;
      std::int64_t budget = first ? best_.bytes - 1 : middle;
      first = false;
      if (!decide(budget)) return;
    }
  }

  /// Finds a plan under the budget or proves that there is none; false: neither.
  bool decide(std::int64_t budget) {
    Model model = compile(instance_, domain_, budget);
    if (std::any_of(model.base.begin(), model.base.end(), [&](std::int64_t b) { return b > budget; })) {
      best_.lower_bound = std::max(best_.lower_bound, budget + 1);
      return true;
    }
    Dual dual(model, Objective::peak);
    RelaxLimits limits;
    limits.rounds = 25;
    limits.work = effort_.left() / 4;
    limits.enough = enough(budget);
    Relaxation relaxation = relax(dual, Objective::peak, {to_assignment(model, best_.choice)}, limits, effort_.work);
    raise(budget, relaxation.bound);
    if (best_.lower_bound > budget) return true;
    for (std::size_t states : {200UL, 5000UL, 100000UL}) {
      if (effort_.over()) return false;
      DynamicLimits dynamic{states, effort_.left() / 2, 0.5};
      EnforcedResult result = run_enforced(dual, Objective::peak, relaxation.rows, dynamic, effort_.work);
      if (result.found) {
        offer(to_choice(model, result.plan));
        return best_.bytes <= budget;
      }
      if (result.dropped >= 0.5) {
        best_.lower_bound = std::max(best_.lower_bound, budget + 1);
        return true;
      }
    }
    return false;
  }

  const Instance& instance_;
  const Domain& domain_;
  std::optional<std::int64_t> target_;
  Effort& effort_;
  std::int64_t below_;
  SmallestBudget best_;
  bool have_ = false;
};

}  // namespace

SmallestBudget min_peak(const Instance& instance, const Domain& domain, const std::vector<Choice>& seeds,
                        std::optional<std::int64_t> target, Effort& effort, std::int64_t below) {
  std::int64_t before = effort.work;
  SmallestBudget result = PeakSearch(instance, domain, target, effort, below).run(seeds);
  result.work = effort.work - before;
  result.stopped_by_clock = effort.stopped_by_clock;
  return result;
}

}  // namespace reprise::solver
