// The budget before the first step: a dry trace says what the step will hold, so that a budget that is too small is
// named before anything is made. Called by train(); a step that departs later meets the meter's own cap.
#pragma once

#include "models/config/config.h"
#include "models/train/step_planner.h"

namespace reprise {

/// Holds the first step of `config`, with the loader's batch slots, against memory.budget. Does nothing without a
/// budget, or where a region of the step depends on data, since its sizes are then upper bounds. Errors (config) name
/// the budget, the peak, and what it is made of, in bytes.
void check_budget(const Config& config, StepPlanner& planner);

}  // namespace reprise
