#include "recompute/solver/factors.h"

#include <algorithm>

namespace reprise::solver {
namespace {

constexpr std::int64_t kMostCombinations = 2048;  // of labels and states in one factor
constexpr std::size_t kMostSegments = 60;         // of a factor with several members
constexpr std::int64_t kMostLevels = 1 << 30;     // of the levels of all members: they are numbered

void make_unique(std::vector<std::int32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// Segments and classes that the uses of these objects name.
void find_variables(const Model& model, const std::vector<std::int32_t>& objects, std::vector<std::int32_t>& segments,
                    std::vector<std::int32_t>& classes) {
  for (std::int32_t j : objects) {
    for (const ModelUse& use : model.objects[j].uses) {
      std::int32_t by_class = model.variables[use.variable].is_class ? use.variable : use.class_variable;
      if (by_class >= 0) classes.push_back(by_class);
      if (by_class != use.variable) segments.push_back(use.variable);
    }
  }
  make_unique(segments);
  make_unique(classes);
}

}  // namespace

Factors::Factors(const Model& model) : model_(model), factor_of_(model.objects.size(), -1) {
  group_by_class();
  for (std::size_t j = 0; j < model.objects.size(); ++j) {
    if (factor_of_[j] < 0) add({static_cast<std::int32_t>(j)});
  }
}

void Factors::group_by_class() {
  for (const Variable& variable : model_.variables) {
    if (!variable.is_class) continue;
    std::vector<std::int32_t> objects;
    for (std::int32_t j : variable.objects) {
      if (factor_of_[j] < 0) objects.push_back(j);
    }
    // Without those that bring most variables until the rest is small enough.
    std::stable_sort(objects.begin(), objects.end(), [&](std::int32_t a, std::int32_t b) {
      return model_.objects[a].uses.size() < model_.objects[b].uses.size();
    });
    auto first = [&](std::size_t count) {
      return std::vector(objects.begin(), objects.begin() + static_cast<std::ptrdiff_t>(count));
    };
    std::size_t fit = 1, too_many = objects.size() + 1;  // what is too large stays so when more come
    while (too_many - fit > 1) {
      std::size_t middle = fit + (too_many - fit) / 2;
      (small_enough(first(middle)) ? fit : too_many) = middle;
    }
    if (objects.size() < 2 || fit < 2) continue;
    objects.resize(fit);
    std::sort(objects.begin(), objects.end());
    add(objects);
  }
}

bool Factors::small_enough(const std::vector<std::int32_t>& objects) const {
  std::vector<std::int32_t> segments, classes;
  find_variables(model_, objects, segments, classes);
  if (classes.size() > kMostClasses || segments.size() > kMostSegments) return false;
  std::int64_t combinations = std::int64_t{1} << classes.size(), levels = 1;
  for (std::int32_t v : segments) {
    // Options that no use tells apart have one label.
    std::vector<std::vector<bool>> patterns;
    for (std::size_t o = 0; o < model_.variables[v].options.size(); ++o) {
      std::vector<bool> pattern;
      for (std::int32_t j : objects) {
        for (const ModelUse& use : model_.objects[j].uses) {
          if (use.variable == v) pattern.push_back(((use.options >> o) & 1U) != 0);
        }
      }
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
    combinations *= static_cast<std::int64_t>(patterns.size());
    if (combinations > kMostCombinations) return false;
  }
  for (std::int32_t j : objects) {
    levels *= static_cast<std::int64_t>(model_.objects[j].rows.size()) + 1;
    if (levels > kMostLevels) return false;
  }
  return true;
}

void Factors::add(const std::vector<std::int32_t>& objects) {
  Factor factor;
  factor.first_slot = static_cast<std::int32_t>(slots_.size());
  factor.first_member = static_cast<std::int32_t>(members_.size());
  factor.members = static_cast<std::int32_t>(objects.size());
  for (std::int32_t j : objects) {
    members_.push_back(j);
    factor_of_[j] = static_cast<std::int32_t>(factors_.size());
  }
  std::vector<std::int32_t> segments, classes;
  find_variables(model_, objects, segments, classes);
  if (classes.size() > kMostClasses) classes.resize(kMostClasses);
  factor.class_slots = static_cast<std::int32_t>(classes.size());
  for (std::int32_t variable : segments) add_segment_slot(factor, variable, classes);
  add_class_slots(factor, classes);
  factor.slots = static_cast<std::int32_t>(slots_.size()) - factor.first_slot;
  if (factor.members > 1) {
    factor.combinations = 1;
    for (int s = 0; s < factor.slots; ++s) factor.combinations *= slot(factor, s).labels;
    factor.table = static_cast<std::int32_t>(table_);
    table_ += factor.combinations;
  }
  factors_.push_back(factor);
}

void Factors::add_segment_slot(const Factor& factor, std::int32_t variable, const std::vector<std::int32_t>& classes) {
  int configurations = factor.configurations();
  std::vector<std::vector<std::int32_t>> patterns;
  Slot slot{variable, 0, static_cast<std::int32_t>(splits_), static_cast<std::int32_t>(labels_.size()),
            static_cast<std::int32_t>(levels_.size())};
  for (std::size_t o = 0; o < model_.variables[variable].options.size(); ++o) {
    std::vector<std::int32_t> pattern(static_cast<std::size_t>(factor.members) * configurations, 0);
    for (int m = 0; m < factor.members; ++m) {
      for (const ModelUse& use : model_.objects[member(factor, m)].uses) {
        if (use.variable != variable || ((use.options >> o) & 1U) == 0) continue;
        auto at = std::find(classes.begin(), classes.end(), use.class_variable);
        if (use.class_variable >= 0 && at == classes.end()) continue;
        for (int k = 0; k < configurations; ++k) {
          bool on = use.class_variable < 0 || ((k >> (at - classes.begin())) & 1) == use.class_option;
          auto& level = pattern[static_cast<std::size_t>(m) * configurations + k];
          if (on) level = std::max(level, use.level);
        }
      }
    }
    auto known = std::find(patterns.begin(), patterns.end(), pattern);
    labels_.push_back(static_cast<std::uint8_t>(known - patterns.begin()));
    if (known == patterns.end()) patterns.push_back(pattern);
  }
  slot.labels = static_cast<std::int32_t>(patterns.size());
  splits_ += patterns.size();
  for (std::size_t at = 0; at < patterns.front().size(); ++at) {
    for (const auto& pattern : patterns) levels_.push_back(pattern[at]);
  }
  slots_.push_back(slot);
}

void Factors::add_class_slots(Factor& factor, const std::vector<std::int32_t>& classes) {
  int configurations = factor.configurations();
  factor.floor = static_cast<std::int32_t>(floors_.size());
  floors_.resize(floors_.size() + static_cast<std::size_t>(factor.members) * configurations, 0);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    slots_.push_back({classes[c], 2, static_cast<std::int32_t>(splits_), static_cast<std::int32_t>(labels_.size()), 0});
    splits_ += 2;
    labels_.insert(labels_.end(), {0, 1});
    for (int m = 0; m < factor.members; ++m) {
      for (const ModelUse& use : model_.objects[member(factor, m)].uses) {
        if (use.variable != classes[c]) continue;
        for (int k = 0; k < configurations; ++k) {
          auto& floor = floors_[factor.floor + m * configurations + k];
          if ((use.options >> ((k >> c) & 1)) & 1U) floor = std::max(floor, use.level);
        }
      }
    }
  }
}

}  // namespace reprise::solver
