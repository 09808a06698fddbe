// What the objects of a factor will still cost at least, given what part of their users has been decided, by the levels
// of all members: worked out when asked for, and remembered.
//
// Used by the dynamic programme. Invariant: one more decided user never lowers the sum of what has been paid and what
// is still to come, so that a partial plan's bound only rises.
#pragma once

#include <cstdint>
#include <unordered_map>
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
  double at(int decided, std::int64_t levels, int classes) const;
  std::int64_t stride(int member) const { return strides_[member]; }

 private:
  double compute(int decided, std::int64_t levels, int classes) const;
  double last(std::int64_t levels, int configuration) const;
  std::int64_t lifted(std::int64_t levels, const Slot& slot, int configuration, int label) const;

  const Dual* dual_ = nullptr;
  const Factor* factor_ = nullptr;
  std::int64_t level_count_ = 1;
  int combinations_ = 1;
  std::vector<std::int64_t> strides_;
  std::vector<std::int32_t> counts_;                        // per member: its levels, 0 included
  mutable std::vector<double> table_;                       // where it is small; -1e300: not known yet
  mutable std::unordered_map<std::int64_t, double> known_;  // else
};

}  // namespace reprise::solver
