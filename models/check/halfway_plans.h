// Plans to be checked: of any method, at the budget halfway between the smallest feasible one and no recomputation,
// made from made-up times, since what is checked is bytes and measuring takes longer than a check should. Used by
// check.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/train/make_plan.h"

namespace reprise {

/// Times as if each node took 1 us, and moving bytes about what it takes.
Profile even_profile(const Config& config);

class HalfwayPlans {
 public:
  explicit HalfwayPlans(Config config);

  /// At the smallest budget of the method itself where halfway is too little for it.
  std::shared_ptr<const Plan> plan(const std::string& method);

 private:
  Config config_;
  RunPlanner planner_;
  std::int64_t budget_ = 0;
};

}  // namespace reprise
