#include "recompute/solver/potential.h"

#include <algorithm>

namespace reprise::solver {
namespace {

/// The digits of a combination; -1 where a class is open.
int to_configuration(int classes, int count) {
  int configuration = 0;
  for (int c = 0; c < count; ++c, classes /= 3) {
    if (classes % 3 == kOpenState) return -1;
    configuration |= (classes % 3) << c;
  }
  return configuration;
}

}  // namespace

Potential::Potential(const Dual& dual, const Factor& factor)
    : segments_(factor.segments()), class_count_(factor.class_slots) {
  for (int m = 0; m < factor.members; ++m) {
    const SharedObject& object = dual.model().objects[dual.factors().member(factor, m)];
    strides_.push_back(level_count_);
    counts_.push_back(static_cast<int>(object.rows.size()) + 1);
    level_count_ *= counts_.back();
  }
  for (int c = 0; c < class_count_; ++c) combinations_ *= 3;
  table_.assign(static_cast<std::size_t>(segments_ + 1) * level_count_ * combinations_, 1e300);
  fill_last(dual, factor);
  fill_open(dual, factor, segments_);
  for (int decided = segments_ - 1; decided >= 0; --decided) {
    fill(dual, factor, decided);
    fill_open(dual, factor, decided);
  }
}

void Potential::fill_last(const Dual& dual, const Factor& factor) {
  for (int k = 0; k < combinations_; ++k) {
    int configuration = to_configuration(k, class_count_);
    if (configuration < 0) continue;
    for (int l = 0; l < level_count_; ++l) {
      double cost = 0;
      for (std::size_t m = 0; m < counts_.size(); ++m) {
        auto member = static_cast<int>(m);
        int level = std::max(l / strides_[m] % counts_[m], dual.factors().floor(factor, member, configuration));
        cost += dual.price(dual.factors().member(factor, member), level);
      }
      cell(segments_, l, k) = cost;
    }
  }
}

int Potential::lifted(const Dual& dual, const Factor& factor, int levels, const Slot& slot, int configuration,
                      int label) const {
  int result = 0;
  for (std::size_t m = 0; m < counts_.size(); ++m) {
    int to = dual.factors().level(factor, slot, static_cast<int>(m), configuration, label);
    result += strides_[m] * std::max(levels / strides_[m] % counts_[m], to);
  }
  return result;
}

void Potential::fill(const Dual& dual, const Factor& factor, int decided) {
  const Slot& slot = dual.factors().slot(factor, decided);
  for (int k = 0; k < combinations_; ++k) {
    int configuration = to_configuration(k, class_count_);
    if (configuration < 0) continue;
    for (int l = 0; l < level_count_; ++l) {
      double least = 1e300;
      for (int a = 0; a < slot.labels; ++a) {
        int next = lifted(dual, factor, l, slot, configuration, a);
        least = std::min(least, cell(decided + 1, next, k) - dual.share(slot, a));
      }
      cell(decided, l, k) = least;
    }
  }
}

/// Open classes take whichever state is cheaper, one class after the other: where both are open, the second pass reads
/// what the first has filled.
void Potential::fill_open(const Dual& dual, const Factor& factor, int decided) {
  int place = 1;
  for (int c = 0; c < class_count_; ++c, place *= 3) {
    const Slot& slot = dual.factors().slot(factor, segments_ + c);
    for (int k = 0; k < combinations_; ++k) {
      if ((k / place) % 3 != kOpenState) continue;
      for (int l = 0; l < level_count_; ++l) {
        double whole = cell(decided, l, k - kOpenState * place) - dual.share(slot, 0);
        double region = cell(decided, l, k - kOpenState * place + place) - dual.share(slot, 1);
        cell(decided, l, k) = std::min(whole, region);
      }
    }
  }
}

}  // namespace reprise::solver
