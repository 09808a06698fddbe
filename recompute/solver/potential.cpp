#include "recompute/solver/potential.h"

#include <algorithm>

namespace reprise::solver {
namespace {

constexpr std::int64_t kMostCells = 4096;  // of a table; more are remembered one by one
constexpr double kUnknown = -1e300;

}  // namespace

Potential::Potential(const Dual& dual, const Factor& factor) : dual_(&dual), factor_(&factor) {
  for (int m = 0; m < factor.members; ++m) {
    const SharedObject& object = dual.model().objects[dual.factors().member(factor, m)];
    strides_.push_back(level_count_);
    counts_.push_back(static_cast<std::int32_t>(object.rows.size()) + 1);
    level_count_ *= counts_.back();
  }
  for (int c = 0; c < factor.class_slots; ++c) combinations_ *= 3;
  std::int64_t cells = (factor.segments() + 1) * level_count_ * combinations_;
  if (cells <= kMostCells) table_.assign(cells, kUnknown);
}

double Potential::at(int decided, std::int64_t levels, int classes) const {
  std::int64_t cell = (decided * level_count_ + levels) * combinations_ + classes;
  if (!table_.empty()) {
    if (table_[cell] == kUnknown) table_[cell] = compute(decided, levels, classes);
    return table_[cell];
  }
  auto known = known_.find(cell);
  if (known != known_.end()) return known->second;
  double value = compute(decided, levels, classes);
  known_.emplace(cell, value);
  return value;
}

double Potential::compute(int decided, std::int64_t levels, int classes) const {
  // An open class takes whichever state is cheaper.
  int configuration = 0, place = 1, rest = classes;
  for (int c = 0; c < factor_->class_slots; ++c, place *= 3, rest /= 3) {
    if (rest % 3 == kOpenState) {
      const Slot& slot = dual_->factors().slot(*factor_, factor_->segments() + c);
      double whole = at(decided, levels, classes - kOpenState * place) - dual_->share(slot, 0);
      double region = at(decided, levels, classes - kOpenState * place + place) - dual_->share(slot, 1);
      return std::min(whole, region);
    }
    configuration |= (rest % 3) << c;
  }
  if (decided == factor_->segments()) return last(levels, configuration);
  const Slot& slot = dual_->factors().slot(*factor_, decided);
  double least = 1e300;
  for (int a = 0; a < slot.labels; ++a) {
    double next = at(decided + 1, lifted(levels, slot, configuration, a), classes);
    least = std::min(least, next - dual_->share(slot, a));
  }
  return least;
}

double Potential::last(std::int64_t levels, int configuration) const {
  double cost = 0;
  for (std::size_t m = 0; m < counts_.size(); ++m) {
    auto member = static_cast<int>(m);
    auto level = static_cast<std::int32_t>(levels / strides_[m] % counts_[m]);
    level = std::max(level, dual_->factors().floor(*factor_, member, configuration));
    cost += dual_->price(dual_->factors().member(*factor_, member), level);
  }
  return cost;
}

std::int64_t Potential::lifted(std::int64_t levels, const Slot& slot, int configuration, int label) const {
  std::int64_t result = 0;
  for (std::size_t m = 0; m < counts_.size(); ++m) {
    int to = dual_->factors().level(*factor_, slot, static_cast<int>(m), configuration, label);
    result += strides_[m] * std::max<std::int64_t>(levels / strides_[m] % counts_[m], to);
  }
  return result;
}

}  // namespace reprise::solver
