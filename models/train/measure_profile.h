// Measuring a profile: a few real training steps of a model of its own, under a given plan and inside the budget, with
// images of noise. Called by make_plan.h before the run's own memory exists.
#pragma once

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

/// `plan` was made by `planner` from a problem without times. Fills all but trace and build. Errors: memory.
Profile measure_profile(const Config& config, const std::shared_ptr<const Plan>& plan, const Planner& planner);

}  // namespace reprise
