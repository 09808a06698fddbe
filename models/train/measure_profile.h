// Measuring a profile: a few real training steps of a model of its own, under a given plan and inside the budget, with
// images of noise. Called by make_plan.h before the run's own memory exists.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "models/config/config.h"
#include "recompute/planning/planner.h"

namespace reprise {

/// What steps under a plan really took and held.
struct MeasuredSteps {
  std::int64_t step_ns = 0;  // median
  double spread = 0;         // (upper quartile - lower quartile) / median
  std::int64_t peak_bytes = 0;
};
/// `plan` null: without one, as the fixed method of `config` says. Errors: memory.
MeasuredSteps measure_steps(const Config& config, const std::shared_ptr<const Plan>& plan, int steps);

/// One real step, the first of a run, with `begin` called right before its forward and `end` after all of its work: for
/// looking at what it does to memory. Errors: memory.
void run_one_step(const Config& config, const std::shared_ptr<const Plan>& plan,
                  const std::function<void(Tape&)>& begin, const std::function<void()>& end);

/// `plan` was made by `planner` from a problem without times. Fills all but trace, build and optimiser. Errors: memory.
Profile measure_profile(const Config& config, const std::shared_ptr<const Plan>& plan, const Planner& planner);

}  // namespace reprise
