#include "recompute/solver/dual.h"

#include <algorithm>

namespace reprise::solver {
namespace {

constexpr double kNever = 1e300;

}  // namespace

Dual::Dual(const Model& model, Objective objective) : model_(&model), objective_(objective), factors_(model) {
  cumulative_.assign(model.base.size() + 1, 0);
  std::int32_t count = 0;
  for (const Variable& variable : model.variables) {
    first_cost_.push_back(count);
    count += static_cast<std::int32_t>(variable.options.size());
  }
  first_cost_.push_back(count);
  costs_.assign(count, 0);
  own_.assign(count, 0);
  for (const SharedObject& object : model.objects) {
    first_price_.push_back(static_cast<std::int32_t>(prices_.size()));
    prices_.resize(prices_.size() + object.rows.size() + 1, 0);
  }
  splits_.assign(factors_.split_count(), 0);
  tables_.assign(factors_.table_size(), 0);
  set_prices({}, {});
}

void Dual::set_prices(const std::vector<std::int32_t>& rows, const std::vector<double>& prices) {
  std::fill(cumulative_.begin(), cumulative_.end(), 0);
  budget_term_ = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    cumulative_[rows[i] + 1] += prices[i];
    budget_term_ += prices[i] * static_cast<double>(model_->base[rows[i]] - model_->budget);
  }
  for (std::size_t t = 1; t < cumulative_.size(); ++t) cumulative_[t] += cumulative_[t - 1];
  double weight = objective_ == Objective::time ? 1 : 0;
  for (std::size_t v = 0; v < model_->variables.size(); ++v) {
    const auto& options = model_->variables[v].options;
    for (std::size_t o = 0; o < options.size(); ++o) {
      double cost = weight * static_cast<double>(options[o].time);
      for (const Span& span : options[o].spans) {
        cost += static_cast<double>(span.bytes) * (cumulative_[span.last + 1] - cumulative_[span.first]);
      }
      own_[first_cost_[v] + o] = cost;
    }
  }
  for (std::size_t j = 0; j < model_->objects.size(); ++j) {
    const SharedObject& object = model_->objects[j];
    for (std::size_t l = 0; l < object.rows.size(); ++l) {
      double priced = object.rows[l] < object.birth ? 0 : cumulative_[object.rows[l] + 1] - cumulative_[object.birth];
      prices_[first_price_[j] + l + 1] =
          weight * static_cast<double>(object.time) + static_cast<double>(object.bytes) * priced;
    }
  }
  price_tables();
  renew_costs();
}

/// The cost of every combination of labels, the first slot's label running fastest.
void Dual::price_tables() {
  std::vector<int> labels;
  for (const Factor& factor : factors_.all()) {
    if (factor.members < 2) continue;
    labels.assign(factor.slots, 0);
    for (std::int32_t i = 0; i < factor.combinations; ++i) {
      int configuration = 0;
      for (int c = 0; c < factor.class_slots; ++c) configuration |= labels[factor.segments() + c] << c;
      double cost = 0;
      for (int m = 0; m < factor.members; ++m) {
        int level = factors_.floor(factor, m, configuration);
        for (int s = 0; s < factor.segments(); ++s) {
          level = std::max(level, factors_.level(factor, factors_.slot(factor, s), m, configuration, labels[s]));
        }
        cost += price(factors_.member(factor, m), level);
      }
      tables_[factor.table + i] = cost;
      for (int s = 0; s < factor.slots && ++labels[s] == factors_.slot(factor, s).labels; ++s) labels[s] = 0;
    }
  }
}

void Dual::renew_costs() {
  costs_ = own_;
  for (const Slot& slot : factors_.slots()) {
    std::int32_t first = first_cost_[slot.variable];
    for (std::int32_t o = 0; o < first_cost_[slot.variable + 1] - first; ++o) {
      costs_[first + o] += splits_[slot.split + factors_.label(slot, o)];
    }
  }
}

void Dual::restore(const std::vector<double>& splits) {
  splits_ = splits;
  renew_costs();
}

double Dual::least(std::size_t variable) const {
  return *std::min_element(costs_.begin() + first_cost_[variable], costs_.begin() + first_cost_[variable + 1]);
}

double Dual::bound() const {
  double sum = budget_term_ + (objective_ == Objective::time ? static_cast<double>(model_->base_time) : 0);
  for (std::size_t v = 0; v < model_->variables.size(); ++v) sum += least(v);
  return sum;
}

std::int64_t Dual::sweep() {
  std::int64_t work = static_cast<std::int64_t>(costs_.size());
  for (const Factor& factor : factors_.all()) {
    split(factor);
    work += factor.slots + factor.combinations / 4;
  }
  return work;
}

/// theta: the least cost of a variable for each label, without this factor's share.
void Dual::find_thetas(const Factor& factor) {
  theta_.clear();
  theta_at_.clear();
  for (int s = 0; s < factor.slots; ++s) {
    const Slot& slot = factors_.slot(factor, s);
    theta_at_.push_back(static_cast<std::int32_t>(theta_.size()));
    theta_.resize(theta_.size() + slot.labels, kNever);
    double* theta = theta_.data() + theta_at_.back();
    std::int32_t first = first_cost_[slot.variable], options = first_cost_[slot.variable + 1] - first;
    for (std::int32_t o = 0; o < options; ++o) {
      int label = factors_.label(slot, o);
      theta[label] = std::min(theta[label], costs_[first + o]);
    }
    for (int l = 0; l < slot.labels; ++l) theta[l] -= splits_[slot.split + l];
  }
}

/// For one object: the best of every variable by the level that it lifts the object to, and the totals.
void Dual::gather(const Factor& factor) {
  std::int32_t object = factors_.member(factor, 0);
  int configurations = factor.configurations(), segments = factor.segments();
  int levels = static_cast<int>(model_->objects[object].rows.size()) + 1;
  best_.assign(static_cast<std::size_t>(segments) * configurations * levels, kNever);
  total_.assign(static_cast<std::size_t>(configurations) * levels, 0);
  for (int k = 0; k < configurations; ++k) {
    double fixed = 0;
    for (int c = 0; c < factor.class_slots; ++c) fixed += theta_[theta_at_[segments + c] + ((k >> c) & 1)];
    for (int l = 0; l < levels; ++l) {
      total_[k * levels + l] = l < factors_.floor(factor, 0, k) ? kNever : fixed + price(object, l);
    }
    for (int s = 0; s < segments; ++s) {
      const Slot& slot = factors_.slot(factor, s);
      double* best = best_.data() + (static_cast<std::size_t>(s) * configurations + k) * levels;
      for (int a = 0; a < slot.labels; ++a) {
        double& at = best[factors_.level(factor, slot, 0, k, a)];
        at = std::min(at, theta_[theta_at_[s] + a]);
      }
      for (int l = 1; l < levels; ++l) best[l] = std::min(best[l], best[l - 1]);
      for (int l = 0; l < levels; ++l) total_[k * levels + l] += best[l];
    }
  }
}

/// For one object: the least cost with all its variables when one of them has this label.
double Dual::best_with(const Factor& factor, int s, int label) const {
  int configurations = factor.configurations(), segments = factor.segments();
  int levels = static_cast<int>(total_.size()) / configurations;
  const Slot& slot = factors_.slot(factor, s);
  double least = kNever;
  for (int k = 0; k < configurations; ++k) {
    if (s >= segments) {
      if (((k >> (s - segments)) & 1) != label) continue;
      for (int l = 0; l < levels; ++l) least = std::min(least, total_[k * levels + l]);
      continue;
    }
    const double* best = best_.data() + (static_cast<std::size_t>(s) * configurations + k) * levels;
    double theta = theta_[theta_at_[s] + label];
    for (int l = factors_.level(factor, slot, 0, k, label); l < levels; ++l) {
      least = std::min(least, total_[k * levels + l] - best[l] + theta);
    }
  }
  return least;
}

/// For several objects: every combination of labels, and the least cost for each label.
void Dual::try_combinations(const Factor& factor) {
  with_label_.assign(theta_.size(), kNever);
  int labels[64] = {};
  double sum = 0;
  for (int s = 0; s < factor.slots; ++s) sum += theta_[theta_at_[s]];
  for (std::int32_t i = 0; i < factor.combinations; ++i) {
    double cost = tables_[factor.table + i] + sum;
    for (int s = 0; s < factor.slots; ++s) {
      double& with = with_label_[theta_at_[s] + labels[s]];
      with = std::min(with, cost);
    }
    for (int s = 0; s < factor.slots; ++s) {
      const double* theta = theta_.data() + theta_at_[s];
      sum -= theta[labels[s]];
      bool carry = ++labels[s] == factors_.slot(factor, s).labels;
      if (carry) labels[s] = 0;
      sum += theta[labels[s]];
      if (!carry) break;
    }
  }
}

void Dual::split(const Factor& factor) {
  find_thetas(factor);
  if (factor.members > 1) {
    try_combinations(factor);
  } else {
    gather(factor);
  }
  shared_out_.clear();
  for (int s = 0; s < factor.slots; ++s) {
    for (int a = 0; a < factors_.slot(factor, s).labels; ++a) {
      double least = factor.members > 1 ? with_label_[theta_at_[s] + a] : best_with(factor, s, a);
      shared_out_.push_back(least / factor.slots - theta_[theta_at_[s] + a]);
    }
  }
  std::size_t at = 0;
  for (int s = 0; s < factor.slots; ++s) {
    const Slot& slot = factors_.slot(factor, s);
    std::int32_t first = first_cost_[slot.variable], options = first_cost_[slot.variable + 1] - first;
    for (std::int32_t o = 0; o < options; ++o) {
      int label = factors_.label(slot, o);
      costs_[first + o] += shared_out_[at + label] - splits_[slot.split + label];
    }
    for (int a = 0; a < slot.labels; ++a) splits_[slot.split + a] = shared_out_[at + a];
    at += slot.labels;
  }
}

}  // namespace reprise::solver
