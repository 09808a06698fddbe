// Whether methods that are predicted to take longer than others took longer when measured, at one budget.
// Called by the frontier with --measure: of noise and of what a profile does not see the order suffers first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/frontier/frontier.h"

namespace reprise {

struct MeasuredOrder {
  std::int64_t pairs = 0;               // of plans of two methods whose predicted times differ by more than 3 %
  std::int64_t kept = 0;                // of these, measured in the predicted order
  std::vector<std::string> violations;  // a line for each other
};

/// The measured point of the same method whose plan differs from that of `point` in its budget at most; null: none.
const FrontierPoint* measured_like(const Frontier& frontier, const FrontierPoint& point);

/// Compares, at each budget at which a point was measured, the plans that the methods have there, where both were
/// measured. Two plans that meet at several budgets are one pair, told at the smallest.
MeasuredOrder measured_order(const Frontier& frontier);

}  // namespace reprise
