// Budgets at which a method has a plan, from its own least peak to the peak that it has without a budget, so that a
// test tries each method at as many of them as it says.
// Called by tests that compare predicted with measured peaks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/train/make_plan.h"

namespace reprise::testing {

/// `count` (at least 2) budgets in bytes, ascending and all different. A method with one plan gets its peak and more.
inline std::vector<std::int64_t> own_budgets(RunPlanner& planner, const std::string& method, std::int64_t count) {
  constexpr std::int64_t kBlock = 64;  // what peaks are multiples of
  std::int64_t low = planner.least(method).predicted_peak;
  std::int64_t high = std::max(planner.plan(method, 0).plan.value().predicted_peak, low + kBlock * (count - 1));
  std::vector<std::int64_t> budgets;
  for (std::int64_t i = 0; i < count; ++i) budgets.push_back(low + (high - low) * i / (count - 1));
  return budgets;
}

}  // namespace reprise::testing
