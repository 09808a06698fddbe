// What the guard compares and poisons around every op of a training step, whether or not an op was given it before:
// all that a checkpoint holds, and the streams. Called by the trainer and by checks before each forward.
#pragma once

#include "autograd/tape.h"
#include "models/model.h"
#include "models/train/optimiser.h"

namespace reprise {

/// Holds until the tape is cleared; nothing happens where the tape has no guard. The streams must outlive the tape.
void watch_states(Tape& tape, TrainableModel& model, const Optimiser& optimiser);

}  // namespace reprise
