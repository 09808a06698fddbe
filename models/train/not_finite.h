// Finding out where a number that is not finite came from: the step's forward is run once more, op by op.
// Called by the trainer when a loss is not finite; moves states, so the run ends after it.
#pragma once

#include <string>

#include "models/model.h"

namespace reprise {

/// Runs the forward of `batch` again and names the first op with a result that is not finite, and an operand of it
/// that already was not. Effects of the forward happen again: call it only when the run is given up.
std::string describe_first_not_finite(TrainableModel& model, const Batch& batch, Memory& memory);

}  // namespace reprise
