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

Potential::Potential(const Dual& dual, std::size_t object) {
  const Factor& factor = dual.factor(object);
  class_count_ = factor.class_slots;
  segments_ = factor.slots - factor.class_slots;
  levels_ = factor.levels + 1;
  for (int c = 0; c < class_count_; ++c) combinations_ *= 3;
  table_.assign(static_cast<std::size_t>(segments_ + 1) * levels_ * combinations_, 1e300);
  fill_last(dual, object);
  fill_open(dual, object, segments_);
  for (int decided = segments_ - 1; decided >= 0; --decided) {
    fill(dual, object, decided);
    fill_open(dual, object, decided);
  }
}

void Potential::fill_last(const Dual& dual, std::size_t object) {
  const Factor& factor = dual.factor(object);
  for (int k = 0; k < combinations_; ++k) {
    int configuration = to_configuration(k, class_count_);
    if (configuration < 0) continue;
    for (int l = 0; l < levels_; ++l) {
      cell(segments_, l, k) = dual.price(object, std::max(l, factor.floor[configuration]));
    }
  }
}

void Potential::fill(const Dual& dual, std::size_t object, int decided) {
  const Slot& slot = dual.slot(dual.factor(object).first_slot + decided);
  for (int k = 0; k < combinations_; ++k) {
    int configuration = to_configuration(k, class_count_);
    if (configuration < 0) continue;
    for (int l = 0; l < levels_; ++l) {
      double least = 1e300;
      for (int a = 0; a < slot.labels; ++a) {
        int next = std::max(l, dual.level(slot, configuration, a));
        least = std::min(least, cell(decided + 1, next, k) - dual.share(slot, a));
      }
      cell(decided, l, k) = least;
    }
  }
}

/// Open classes take whichever state is cheaper, one class after the other: where both are open, the second pass reads
/// what the first has filled.
void Potential::fill_open(const Dual& dual, std::size_t object, int decided) {
  const Factor& factor = dual.factor(object);
  int place = 1;
  for (int c = 0; c < class_count_; ++c, place *= 3) {
    const Slot& slot = dual.slot(factor.first_slot + segments_ + c);
    for (int k = 0; k < combinations_; ++k) {
      if ((k / place) % 3 != kOpenState) continue;
      for (int l = 0; l < levels_; ++l) {
        double whole = cell(decided, l, k - kOpenState * place) - dual.share(slot, 0);
        double region = cell(decided, l, k - kOpenState * place + place) - dual.share(slot, 1);
        cell(decided, l, k) = std::min(whole, region);
      }
    }
  }
}

}  // namespace reprise::solver
