// Move costs: what copying a storage, gathering a record and exchanging a block cost on this machine, measured through
// the preserver itself on buffers of its own and fitted as fixed + bytes + runs. Takes some tens of milliseconds.
#pragma once

#include "recompute/planning/profile.h"

namespace reprise {

struct MoveCosts {
  MoveCost copy, gather, exchange;
};

/// `most_bytes`: the size of the largest storage that will be moved; buffers are of that size, within 1 to 64 MiB.
MoveCosts measure_move_costs(std::int64_t most_bytes);

}  // namespace reprise
