// Small arbitrary instances that try every corner of the planning problem, for tests against all plans.
// Called by tests of the solver. Invariant: the same seed gives the same instance on every machine.
#pragma once

#include <cstdint>

#include "recompute/solver/instance.h"

namespace reprise::solver {

/// At most 2^14 plans in all; everything that an instance can express, sizes and times small enough for many ties.
Instance random_small(std::uint64_t seed);

}  // namespace reprise::solver
