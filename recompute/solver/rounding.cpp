#include "recompute/solver/rounding.h"

namespace reprise::solver {
namespace {

/// What a variable costs at an option, shared objects with it, while the others stay.
double cost_at(const Dual& dual, Assignment& assignment, std::size_t v, std::uint8_t option) {
  const Model& model = dual.model();
  assignment[v] = option;
  double cost = dual.own_cost(v, option);
  for (std::int32_t j : model.variables[v].objects) cost += dual.price(j, level_of(model.objects[j], assignment));
  return cost;
}

bool settle(const Dual& dual, Assignment& assignment, std::size_t v, std::int64_t& work) {
  const Variable& variable = dual.model().variables[v];
  std::uint8_t before = assignment[v], best = before;
  double least = cost_at(dual, assignment, v, before);
  for (std::size_t o = 0; o < variable.options.size(); ++o) {
    auto option = static_cast<std::uint8_t>(o);
    if (option == before) continue;
    double cost = cost_at(dual, assignment, v, option);
    if (cost < least - 1e-9) {
      least = cost;
      best = option;
    }
  }
  work += static_cast<std::int64_t>(variable.options.size() * (1 + variable.objects.size()));
  assignment[v] = best;
  return best != before;
}

/// All users of an object leave it together: only the last of them frees it.
bool leave_object(const Dual& dual, Assignment& assignment, std::size_t j, std::int64_t& work) {
  const Model& model = dual.model();
  const SharedObject& object = model.objects[j];
  if (dual.price(j, level_of(object, assignment)) <= 0) return false;
  std::vector<std::pair<std::int32_t, std::uint8_t>> before;
  double change = 0;
  for (const ModelUse& use : object.uses) {
    bool on = ((use.options >> assignment[use.variable]) & 1U) != 0 &&
              (use.class_variable < 0 || assignment[use.class_variable] == use.class_option);
    if (!on) continue;
    std::size_t v = use.variable;
    std::uint8_t old = assignment[v], best = old;
    double now = cost_at(dual, assignment, v, old), least = 1e300;
    for (std::size_t o = 0; o < model.variables[v].options.size(); ++o) {
      if ((use.options >> o) & 1U) continue;
      double cost = cost_at(dual, assignment, v, static_cast<std::uint8_t>(o));
      if (cost < least) {
        least = cost;
        best = static_cast<std::uint8_t>(o);
      }
    }
    work += static_cast<std::int64_t>(model.variables[v].options.size() * (1 + model.variables[v].objects.size()));
    assignment[v] = best;
    if (best == old) continue;
    before.emplace_back(v, old);
    change += least - now;
  }
  if (change < -1e-9) return true;
  for (std::size_t i = before.size(); i-- > 0;) assignment[before[i].first] = before[i].second;
  return false;
}

}  // namespace

Assignment cheapest(const Dual& dual) {
  const Model& model = dual.model();
  Assignment assignment(model.variables.size(), 0);
  for (std::size_t v = 0; v < model.variables.size(); ++v) {
    for (std::size_t o = 1; o < model.variables[v].options.size(); ++o) {
      if (dual.cost(v, o) < dual.cost(v, assignment[v]) - 1e-9) assignment[v] = static_cast<std::uint8_t>(o);
    }
  }
  return assignment;
}

void improve_priced(const Dual& dual, Assignment& assignment, int passes, std::int64_t& work) {
  const Model& model = dual.model();
  std::vector<std::uint8_t> stale(model.variables.size(), 1);  // whose best option may be another than the last time
  auto mark_users = [&](std::size_t v) {
    for (std::int32_t j : model.variables[v].objects) {
      for (const ModelUse& use : model.objects[j].uses) {
        stale[use.variable] = 1;
        if (use.class_variable >= 0) stale[use.class_variable] = 1;
      }
    }
  };
  for (int pass = 0; pass < passes; ++pass) {
    bool changed = false;
    for (std::size_t v = 0; v < model.variables.size(); ++v) {
      if (!stale[v]) continue;
      if (settle(dual, assignment, v, work)) {
        changed = true;
        mark_users(v);
      }
      stale[v] = 0;
    }
    if (changed && pass + 2 < passes) continue;
    for (std::size_t j = 0; j < model.objects.size(); ++j) {
      if (!leave_object(dual, assignment, j, work)) continue;
      changed = true;
      std::fill(stale.begin(), stale.end(), 1);
    }
    if (!changed) return;
  }
}

double priced_cost(const Dual& dual, const Assignment& assignment) {
  const Model& model = dual.model();
  double cost = 0;
  for (std::size_t v = 0; v < model.variables.size(); ++v) cost += dual.own_cost(v, assignment[v]);
  for (std::size_t j = 0; j < model.objects.size(); ++j) {
    cost += dual.price(j, level_of(model.objects[j], assignment));
  }
  return cost;
}

}  // namespace reprise::solver
