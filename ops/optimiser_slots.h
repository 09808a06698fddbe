// What the optimisers ask of their slots before the first byte changes: shapes and dtypes, gradients that are complete,
// and tensors apart from each other. Their loops run over all slots in parallel; where two of them wrote the same
// bytes, what came out would depend on the threads. Called by ops/optimiser.cpp only.
#pragma once

#include <span>

#include "ops/optimiser.h"

namespace reprise {

/// What a rule keeps for each parameter.
struct SlotNeeds {
  bool momentum = false, second = false;
};

/// Errors (user): a slot without a parameter.
void require_parameter(const char* who, const OptimiserSlot& slot);

/// Whether the step leaves the slot out: its parameter has no gradient.
bool is_idle(const OptimiserSlot& slot);

/// Errors (user): those of sgd_step in ops/optimiser.h. The slots that are not idle are checked to lie apart.
void check_slots(const char* who, std::span<const OptimiserSlot> slots, const SlotNeeds& needs);

/// Errors (user): those of ema_step in ops/optimiser.h.
void check_averages(std::span<const EmaSlot> slots);

}  // namespace reprise
