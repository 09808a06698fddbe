// The budget before the first step: dry traces say what the steps will hold, so that a budget that is too small is
// named before anything is made. Called by train(); a step that departs later meets the meter's own cap.
#pragma once

#include "models/config/config.h"
#include "models/train/step_planner.h"

namespace reprise {

/// Holds the steps of `config` from all host states that its run can reach, with the loader's batch slots, against
/// memory.budget. Does nothing without a budget, or where a region of the step depends on data, since its sizes are
/// then upper bounds. Errors (config) name the budget, the peak, what it is made of, in bytes, the smallest feasible
/// budget and, for a fixed method, what the planner answers: the step that binds and the option that would make it fit.
void check_budget(const Config& config, StepPlanner& planner);

/// The same for one step, before its forward: there may be more host states than were looked at before the first.
void check_budget(const Config& config, const Schedule& step);

}  // namespace reprise
