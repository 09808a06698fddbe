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

constexpr double kHalf = 0.5;                  // times are whole: what is within half a nanosecond cannot be better
constexpr std::size_t kExactVariables = 2500;  // more are searched around the best plan only

class TimeSearch {
 public:
  TimeSearch(const Instance& instance, const Domain& domain, std::int64_t budget, Effort& effort)
      : instance_(instance), domain_(domain), budget_(budget), effort_(effort) {}

  MinTime run(const std::vector<Choice>& seeds) {
    seeds_ = seeds;
    best_.choice = seeds.front();
    best_.time = evaluate(instance_, seeds.front()).time_ns;
    for (const Choice& seed : seeds) offer(seed);
    std::vector<Node> pending{{domain_, -1e300, 0}};
    double unfinished = 1e300;  // least bound of what was given up
    while (!pending.empty()) {
      Node node = std::move(pending.back());
      pending.pop_back();
      if (!effort_.over()) explore(node);
      if (closed(node)) continue;
      if (effort_.over() || !branch(node, pending)) unfinished = std::min(unfinished, node.bound);
    }
    best_.proven = unfinished > static_cast<double>(best_.time) - 1 + 1e-6;
    best_.lower_bound = std::min(unfinished, static_cast<double>(best_.time));
    return best_;
  }

 private:
  /// A part of the domain, with what is known of the plans in it.
  struct Node {
    Domain open;
    double bound = -1e300;
    int depth = 0;
    std::int32_t branch_segment = -1, branch_class = -1;  // what to decide next if it stays open
    std::uint64_t branch_options = 0;                     // the side to look at first
  };

  /// Whether nothing in it can be better than the best plan.
  bool closed(const Node& node) const { return node.bound > static_cast<double>(best_.time) - 1 + 1e-6; }

  void explore(Node& node) {
    for (int round = 0; round < 6 && !effort_.over(); ++round) {
      std::size_t before = open_count(node.open);
      std::int64_t time = best_.time;
      pass(node, round);
      if (closed(node) || (open_count(node.open) * 10 > before * 9 && best_.time == time)) return;
    }
  }

  /// Puts the two halves of an open part on the stack, the likelier one on top; false: it is too large for that.
  bool branch(const Node& node, std::vector<Node>& pending) const {
    if (node.depth > 60 || (node.branch_class < 0 && node.branch_segment < 0)) return false;
    Node likely{node.open, node.bound, node.depth + 1}, other = likely;
    if (node.branch_class >= 0) {
      auto side = static_cast<std::uint8_t>(node.branch_options);
      likely.open.states[node.branch_class] &= side;
      other.open.states[node.branch_class] &= static_cast<std::uint8_t>(~side);
    } else {
      likely.open.options[node.branch_segment] &= node.branch_options;
      other.open.options[node.branch_segment] &= ~node.branch_options;
    }
    pending.push_back(std::move(other));
    pending.push_back(std::move(likely));
    return true;
  }

  static std::size_t open_count(const Domain& open) {
    std::size_t count = 0;
    for (std::uint64_t options : open.options) count += std::popcount(options) - 1;
    for (std::uint8_t states : open.states) count += states == 3 ? 1 : 0;
    return count;
  }

  void offer(const Choice& choice) {
    Evaluation evaluation = evaluate(instance_, choice);
    effort_.work += static_cast<std::int64_t>(instance_.segments.size());
    if (evaluation.peak > budget_ || evaluation.time_ns >= best_.time) return;
    best_.time = evaluation.time_ns;
    best_.choice = choice;
  }

  static void raise(Node& node, double bound) { node.bound = std::max(node.bound, bound); }

  /// The bound of a relaxation with which the part at hand is closed.
  double enough() const { return enough_for(best_.time); }

  double cutoff() const { return static_cast<double>(best_.time) - kHalf; }

  static double safe(double bound) { return without_rounding(bound); }

  void pass(Node& node, int round) {
    Model model = compile(instance_, node.open, budget_);
    if (std::any_of(model.base.begin(), model.base.end(), [&](std::int64_t b) { return b > budget_; })) {
      raise(node, 1e300);
      return;
    }
    if (model.variables.empty()) {
      offer(to_choice(model, {}));
      raise(node, 1e300);
      return;
    }
    Dual dual(model, Objective::time);
    Relaxation relaxation = relax_model(dual, node.depth > 0 || round > 0);
    raise(node, safe(relaxation.bound));
    if (closed(node)) return;
    round_plans(dual, relaxation, node.depth > 0 ? 2 : 10);
    rule_out(node, dual, relaxation.bound);
    if (closed(node)) return;
    if (model.variables.size() > kExactVariables) {
      search_around(node, dual);
      rule_out(node, dual, relaxation.bound);
    }
    Model left = compile(instance_, node.open, budget_);
    if (left.variables.size() <= kExactVariables) exact(node, dual, relaxation, left);
  }

  Relaxation relax_model(Dual& dual, bool again) {
    std::vector<Assignment> seeds;
    for (const Choice& seed : seeds_) seeds.push_back(to_assignment(dual.model(), seed));
    if (std::find(seeds_.begin(), seeds_.end(), best_.choice) == seeds_.end()) {
      seeds.push_back(to_assignment(dual.model(), best_.choice));
    }
    RelaxLimits limits;
    limits.work = effort_.left() / 3;
    limits.rounds = again ? 30 : 60;
    limits.enough = enough();
    return relax(dual, Objective::time, seeds, limits, effort_.work);
  }

  /// The plans that the prices called for, brought under the budget and then made faster.
  void round_plans(const Dual& dual, const Relaxation& relaxation, std::size_t most) {
    if (dual.model().variables.size() > 20000) most = 4;
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
  void rule_out(Node& node, const Dual& dual, double bound) {
    const Model& model = dual.model();
    for (std::size_t v = 0; v < model.variables.size(); ++v) {
      const Variable& variable = model.variables[v];
      double least = dual.least(v);
      for (std::size_t o = 0; o < variable.options.size(); ++o) {
        if (safe(bound) + dual.cost(v, o) - least < cutoff()) continue;
        std::uint8_t source = variable.options[o].source;
        if (variable.is_class) {
          node.open.states[variable.source] &= static_cast<std::uint8_t>(~(1U << source));
        } else {
          node.open.options[variable.source] &= ~(std::uint64_t{1} << source);
        }
      }
    }
    const Domain& open = node.open;
    bool emptied = std::any_of(open.options.begin(), open.options.end(), [](std::uint64_t o) { return o == 0; }) ||
                   std::any_of(open.states.begin(), open.states.end(), [](std::uint8_t s) { return s == 0; });
    if (emptied) raise(node, 1e300);
  }

  /// All that is left, with few partial plans first: a better plan found early rules out more.
  void exact(Node& node, const Dual& dual, Relaxation& relaxation, const Model& left) {
    Dual narrow(left, Objective::time);
    bool smaller = left.variables.size() < dual.model().variables.size() || left.rows() != dual.model().rows();
    if (smaller) {
      RelaxLimits limits;
      limits.rounds = 30;
      limits.work = effort_.left() / 3;
      limits.enough = enough();
      relaxation = relax(narrow, Objective::time, {to_assignment(left, best_.choice)}, limits, effort_.work);
      raise(node, safe(relaxation.bound));
      if (closed(node)) return;
    }
    const Dual& used = smaller ? narrow : dual;
    choose_branch(node, used);
    std::size_t most = node.depth > 0 ? 5000 : 50000;
    for (std::size_t states : {std::size_t{100}, std::size_t{2000}, most}) {
      if (effort_.over()) return;
      DynamicLimits limits{states, effort_.left() / 2, cutoff()};
      EnforcedResult result = run_enforced(used, Objective::time, relaxation.rows, limits, effort_.work);
      if (result.found) offer(to_choice(used.model(), result.plan));
      raise(node, std::min(safe(result.dropped), static_cast<double>(best_.time)));
      if (closed(node)) return;
      std::size_t before = open_count(node.open);
      rule_out(node, used, relaxation.bound);
      if (closed(node) || open_count(node.open) * 10 < before * 8) return;
    }
  }

  /// What to decide if the part stays open: the class whose objects weigh most, else the segment.
  void choose_branch(Node& node, const Dual& dual) const {
    const Model& model = dual.model();
    node.branch_class = node.branch_segment = -1;
    double heaviest = -1;
    std::size_t chosen = model.variables.size();
    for (std::size_t v = 0; v < model.variables.size(); ++v) {
      const Variable& variable = model.variables[v];
      double weight = 0;
      for (std::int32_t j : variable.objects)
        weight += dual.price(j, static_cast<std::int32_t>(model.objects[j].rows.size()));
      weight /= 1 + std::max(0.0, margin(dual, v)) / (1 + weight);
      if (variable.is_class) weight = 1e30 * (1 + weight);
      if (weight > heaviest) {
        heaviest = weight;
        chosen = v;
      }
    }
    if (chosen == model.variables.size()) return;
    const Variable& variable = model.variables[chosen];
    std::size_t best = 0;
    for (std::size_t o = 1; o < variable.options.size(); ++o) {
      if (dual.cost(chosen, o) < dual.cost(chosen, best)) best = o;
    }
    node.branch_options = std::uint64_t{1} << variable.options[best].source;
    (variable.is_class ? node.branch_class : node.branch_segment) = variable.source;
  }

  /// The variables whose choice is closest, all others as in the best plan.
  void search_around(const Node& node, const Dual& dual) {
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
          core.states[variable.source] |= node.open.states[variable.source];
        } else {
          core.options[variable.source] |= node.open.options[variable.source];
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
    Relaxation relaxation = relax(dual, Objective::time, {to_assignment(model, best_.choice)}, limits, effort_.work);
    for (std::size_t i = relaxation.plans.size(); i-- > 0 && i + 4 > relaxation.plans.size();) {
      improve(dual, relaxation.plans[i]);
    }
    DynamicLimits dynamic{1000, effort_.left() / 10, cutoff()};
    EnforcedResult result = run_enforced(dual, Objective::time, relaxation.rows, dynamic, effort_.work);
    if (result.found) offer(to_choice(model, result.plan));
  }

  const Instance& instance_;
  const Domain& domain_;
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
