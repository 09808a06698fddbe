// What the objects of a factor will still cost at least, given what part of their users has been decided: tables by the
// levels of all members.
//
// Used by the dynamic programme. Invariant: one more decided user never lowers the sum of what has been paid and what
// is still to come, so that a partial plan's bound only rises.
#pragma once

#include <vector>

#include "recompute/solver/dual.h"

namespace reprise::solver {

/// The state of a class that is not decided yet, in potentials.
constexpr int kOpenState = 2;

class Potential {
 public:
  Potential() = default;
  Potential(const Dual& dual, const Factor& factor);

  /// `decided`: how many of its segments have been decided; `levels`: those of the members, each times its stride;
  /// `classes`: its classes' states, base 3, first one lowest.
  double at(int decided, int levels, int classes) const {
    return table_[(static_cast<std::size_t>(decided) * level_count_ + levels) * combinations_ + classes];
  }
  int stride(int member) const { return strides_[member]; }

 private:
  void fill_last(const Dual& dual, const Factor& factor);
  void fill(const Dual& dual, const Factor& factor, int decided);
  void fill_open(const Dual& dual, const Factor& factor, int decided);
  int lifted(const Dual& dual, const Factor& factor, int levels, const Slot& slot, int configuration, int label) const;
  double& cell(int decided, int levels, int classes) {
    return table_[(static_cast<std::size_t>(decided) * level_count_ + levels) * combinations_ + classes];
  }

  int segments_ = 0, level_count_ = 1, class_count_ = 0, combinations_ = 1;
  std::vector<int> strides_, counts_;  // per member: counts are its levels, 0 included
  std::vector<double> table_;
};

}  // namespace reprise::solver
