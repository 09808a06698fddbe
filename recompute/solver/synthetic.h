// Made-up instances, from a seed: steps of a chain of segments with sizes and times as in real models, in three
// families of sharing.
//
// Called by tests and `reprise bench planner`. Invariant: the same arguments give the same instance on every machine.
#pragma once

#include <cstdint>

#include "recompute/solver/instance.h"

namespace reprise::solver {

enum class Sharing {
  none,       // every object belongs to one segment
  local,      // boundaries and records are read by neighbours
  scattered,  // records are read by segments anywhere, boundaries skip far ahead
};

const char* to_string(Sharing sharing);

struct SyntheticOptions {
  int segments = 50;
  Sharing sharing = Sharing::local;
  int finer_options = 0;  // replays that keep some of the values, besides retain and replay
  double classes = 0.1;   // per segment: states that are overwritten in the step
  std::uint64_t seed = 1;
};

Instance synthetic_step(const SyntheticOptions& options);

}  // namespace reprise::solver
