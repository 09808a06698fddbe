// What a shared object will still cost at least, given what part of its users has been decided: tables by level.
//
// Used by the dynamic programme. Invariant: one more decided user never lowers the sum of what has been paid and what is
// still to come, so that a partial plan's bound only rises.
#pragma once

#include <vector>

#include "recompute/solver/dual.h"

namespace reprise::solver {

/// The state of a class that is not decided yet, in potentials.
constexpr int kOpenState = 2;

class Potential {
 public:
  Potential() = default;
  Potential(const Dual& dual, std::size_t object);

  /// `decided`: how many of its segments have been decided; `classes`: its classes' states, base 3, first one lowest.
  double at(int decided, int level, int classes) const {
    return table_[(static_cast<std::size_t>(decided) * levels_ + level) * combinations_ + classes];
  }
  int segments() const { return segments_; }

 private:
  void fill_last(const Dual& dual, std::size_t object);
  void fill(const Dual& dual, std::size_t object, int decided);
  void fill_open(const Dual& dual, std::size_t object, int decided);
  double& cell(int decided, int level, int classes) {
    return table_[(static_cast<std::size_t>(decided) * levels_ + level) * combinations_ + classes];
  }

  int segments_ = 0, levels_ = 1, class_count_ = 0, combinations_ = 1;
  std::vector<double> table_;
};

}  // namespace reprise::solver
