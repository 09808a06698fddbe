// Move costs: what copying a storage, gathering a record and exchanging a block cost on this machine, measured through
// the preserver itself on buffers of its own and fitted as fixed + bytes + runs. Takes some tens of milliseconds.
// Caches are another matter in a real step, so that the costs are then held against what real steps took.
#pragma once

#include <cstdint>

#include "recompute/planning/profile.h"
#include "recompute/planning/step_timer.h"

namespace reprise {

struct MoveCosts {
  MoveCost copy, gather, exchange;
};

/// `most_bytes`: the size of the largest storage that will be moved; buffers are of that size, within 1 to 64 MiB.
MoveCosts measure_move_costs(std::int64_t most_bytes);

/// The same costs by another factor for each kind of which the steps moved enough to tell: so that what they took is
/// what the costs say. The factors are within 1/8 and 8, so that one bad measurement cannot make a plan absurd.
MoveCosts held_against(const MoveCosts& costs, const StepTimer::Moves& moves);

}  // namespace reprise
