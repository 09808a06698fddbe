// Among plans of the same time: less memory, then no replay that saves nothing, then earlier segments retained.
//
// Called on the best plan of a method. Invariant: neither time nor peak rises.
#pragma once

#include "recompute/solver/domain.h"
#include "recompute/solver/effort.h"
#include "recompute/solver/instance.h"

namespace reprise::solver {

/// A plan that takes no more time and has the smallest peak that was found.
Choice with_less_memory(const Instance& instance, const Domain& domain, Choice choice, Effort& effort);

/// Retains, first segments first, wherever that costs neither time nor a byte of the peak.
Choice without_idle_replays(const Instance& instance, const Domain& domain, Choice choice, Effort& effort);

/// Retains earlier segments instead of later ones wherever that changes neither time, peak nor the number of replays.
Choice with_earlier_retained(const Instance& instance, const Domain& domain, Choice choice, Effort& effort);

}  // namespace reprise::solver
