#include "recompute/solver/dual.h"

#include <algorithm>

namespace reprise::solver {
namespace {

constexpr double kNever = 1e300;

}  // namespace

Dual::Dual(const Model& model, Objective objective) : model_(&model), objective_(objective) {
  cumulative_.assign(model.base.size() + 1, 0);
  std::int32_t count = 0;
  for (const Variable& variable : model.variables) {
    first_cost_.push_back(count);
    count += static_cast<std::int32_t>(variable.options.size());
  }
  first_cost_.push_back(count);
  costs_.assign(count, 0);
  own_.assign(count, 0);
  for (const SharedObject& object : model.objects) add_factor(object);
  splits_.assign(splits_.size(), 0);
  set_prices({}, {});
}

void Dual::add_factor(const SharedObject& object) {
  Factor factor;
  factor.first_slot = static_cast<std::int32_t>(slots_.size());
  factor.levels = static_cast<std::int32_t>(object.rows.size());
  factor.price = static_cast<std::int32_t>(prices_.size());
  prices_.resize(prices_.size() + object.rows.size() + 1, 0);
  std::vector<std::int32_t> classes, segments;
  for (const ModelUse& use : object.uses) {
    std::int32_t by_class = model_->variables[use.variable].is_class ? use.variable : use.class_variable;
    if (by_class >= 0) classes.push_back(by_class);
    if (by_class != use.variable) segments.push_back(use.variable);
  }
  auto unique = [](std::vector<std::int32_t>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  unique(classes);
  unique(segments);
  if (classes.size() > kMostClasses) classes.resize(kMostClasses);
  for (std::int32_t variable : segments) add_segment_slot(object, variable, classes);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    Slot slot{classes[c], 2, static_cast<std::int32_t>(splits_.size()),
              static_cast<std::int32_t>(label_of_option_.size()), 0};
    splits_.resize(splits_.size() + 2);
    label_of_option_.insert(label_of_option_.end(), {0, 1});
    slots_.push_back(slot);
    for (const ModelUse& use : object.uses) {
      if (use.variable != classes[c]) continue;
      for (int k = 0; k < (1 << classes.size()); ++k) {
        if ((use.options >> ((k >> c) & 1)) & 1U) factor.floor[k] = std::max(factor.floor[k], use.level);
      }
    }
  }
  factor.class_slots = static_cast<std::int32_t>(classes.size());
  factor.slots = static_cast<std::int32_t>(slots_.size()) - factor.first_slot;
  factors_.push_back(factor);
}

void Dual::add_segment_slot(const SharedObject& object, std::int32_t variable,
                            const std::vector<std::int32_t>& classes) {
  int configurations = 1 << classes.size();
  std::size_t options = model_->variables[variable].options.size();
  std::vector<std::vector<std::int32_t>> patterns;
  Slot slot{variable, 0, static_cast<std::int32_t>(splits_.size()), static_cast<std::int32_t>(label_of_option_.size()),
            static_cast<std::int32_t>(levels_.size())};
  for (std::size_t o = 0; o < options; ++o) {
    std::vector<std::int32_t> pattern(configurations, 0);
    for (const ModelUse& use : object.uses) {
      if (use.variable != variable || ((use.options >> o) & 1U) == 0) continue;
      auto at = std::find(classes.begin(), classes.end(), use.class_variable);
      if (use.class_variable >= 0 && at == classes.end()) continue;
      for (int k = 0; k < configurations; ++k) {
        bool on = use.class_variable < 0 || ((k >> (at - classes.begin())) & 1) == use.class_option;
        if (on) pattern[k] = std::max(pattern[k], use.level);
      }
    }
    auto known = std::find(patterns.begin(), patterns.end(), pattern);
    label_of_option_.push_back(static_cast<std::uint8_t>(known - patterns.begin()));
    if (known == patterns.end()) patterns.push_back(pattern);
  }
  slot.labels = static_cast<std::int32_t>(patterns.size());
  splits_.resize(splits_.size() + patterns.size());
  for (int k = 0; k < configurations; ++k) {
    for (const auto& pattern : patterns) levels_.push_back(pattern[k]);
  }
  slots_.push_back(slot);
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
  for (std::size_t j = 0; j < factors_.size(); ++j) {
    const SharedObject& object = model_->objects[j];
    for (std::size_t l = 0; l < object.rows.size(); ++l) {
      double priced = object.rows[l] < object.birth ? 0 : cumulative_[object.rows[l] + 1] - cumulative_[object.birth];
      prices_[factors_[j].price + l + 1] =
          weight * static_cast<double>(object.time) + static_cast<double>(object.bytes) * priced;
    }
  }
  renew_costs();
}

void Dual::renew_costs() {
  costs_ = own_;
  for (const Slot& slot : slots_) {
    std::int32_t first = first_cost_[slot.variable];
    for (std::int32_t o = 0; o < first_cost_[slot.variable + 1] - first; ++o) {
      costs_[first + o] += splits_[slot.split + label_of_option_[slot.label_of + o]];
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
  for (const Factor& factor : factors_) {
    split(factor);
    work += factor.slots;
  }
  return work;
}

/// theta: the least cost of a variable for each label, without this object's share; then the best per level.
void Dual::gather(const Factor& factor) {
  int configurations = 1 << factor.class_slots, levels = factor.levels + 1, segments = factor.slots - factor.class_slots;
  theta_.clear();
  theta_at_.clear();
  for (int s = 0; s < factor.slots; ++s) {
    const Slot& slot = slots_[factor.first_slot + s];
    theta_at_.push_back(static_cast<std::int32_t>(theta_.size()));
    theta_.resize(theta_.size() + slot.labels, kNever);
    double* theta = theta_.data() + theta_at_.back();
    std::int32_t first = first_cost_[slot.variable], options = first_cost_[slot.variable + 1] - first;
    const std::uint8_t* label = label_of_option_.data() + slot.label_of;
    for (std::int32_t o = 0; o < options; ++o) theta[label[o]] = std::min(theta[label[o]], costs_[first + o]);
    for (int l = 0; l < slot.labels; ++l) theta[l] -= splits_[slot.split + l];
  }
  best_.assign(static_cast<std::size_t>(segments) * configurations * levels, kNever);
  total_.assign(static_cast<std::size_t>(configurations) * levels, 0);
  for (int k = 0; k < configurations; ++k) {
    double fixed = 0;
    for (int c = 0; c < factor.class_slots; ++c) fixed += theta_[theta_at_[segments + c] + ((k >> c) & 1)];
    for (int l = 0; l < levels; ++l) {
      total_[k * levels + l] = l < factor.floor[k] ? kNever : fixed + prices_[factor.price + l];
    }
    for (int s = 0; s < segments; ++s) {
      const Slot& slot = slots_[factor.first_slot + s];
      double* best = best_.data() + (static_cast<std::size_t>(s) * configurations + k) * levels;
      for (int a = 0; a < slot.labels; ++a) {
        double& at = best[level(slot, k, a)];
        at = std::min(at, theta_[theta_at_[s] + a]);
      }
      for (int l = 1; l < levels; ++l) best[l] = std::min(best[l], best[l - 1]);
      for (int l = 0; l < levels; ++l) total_[k * levels + l] += best[l];
    }
  }
}

/// The least cost of the object with all its variables when one of them has this label.
double Dual::best_with(const Factor& factor, int s, int label) const {
  int configurations = 1 << factor.class_slots, levels = factor.levels + 1, segments = factor.slots - factor.class_slots;
  const Slot& slot = slots_[factor.first_slot + s];
  double least = kNever;
  for (int k = 0; k < configurations; ++k) {
    if (s >= segments) {
      if (((k >> (s - segments)) & 1) != label) continue;
      for (int l = 0; l < levels; ++l) least = std::min(least, total_[k * levels + l]);
      continue;
    }
    const double* best = best_.data() + (static_cast<std::size_t>(s) * configurations + k) * levels;
    double theta = theta_[theta_at_[s] + label];
    for (int l = level(slot, k, label); l < levels; ++l) {
      least = std::min(least, total_[k * levels + l] - best[l] + theta);
    }
  }
  return least;
}

void Dual::split(const Factor& factor) {
  gather(factor);
  shared_out_.clear();
  for (int s = 0; s < factor.slots; ++s) {
    for (int a = 0; a < slots_[factor.first_slot + s].labels; ++a) {
      shared_out_.push_back(best_with(factor, s, a) / factor.slots - theta_[theta_at_[s] + a]);
    }
  }
  std::size_t at = 0;
  for (int s = 0; s < factor.slots; ++s) {
    const Slot& slot = slots_[factor.first_slot + s];
    std::int32_t first = first_cost_[slot.variable], options = first_cost_[slot.variable + 1] - first;
    for (std::int32_t o = 0; o < options; ++o) {
      std::uint8_t label = label_of_option_[slot.label_of + o];
      costs_[first + o] += shared_out_[at + label] - splits_[slot.split + label];
    }
    for (int a = 0; a < slot.labels; ++a) splits_[slot.split + a] = shared_out_[at + a];
    at += slot.labels;
  }
}

}  // namespace reprise::solver
