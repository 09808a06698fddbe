// Which options and states remain open: what a method permits, narrowed by the search as it rules out or fixes choices.
// Used inside the solver. Invariant: every segment and every class keeps at least one.
#pragma once

#include <cstdint>
#include <vector>

#include "recompute/solver/instance.h"

namespace reprise::solver {

struct Domain {
  std::vector<std::uint64_t> options;  // per segment, bit o: option o is open
  std::vector<std::uint8_t> states;    // per class, bit 0: whole, bit 1: region

  friend bool operator==(const Domain&, const Domain&) = default;
};

/// What a method permits. Without whole and region everything that can be retained is; without retain everything that
/// can be replayed is. A segment with nothing of what is permitted keeps what it has.
Domain domain_of(const Instance& instance, const Allowed& allowed);

/// Whether the domain has this choice.
bool contains(const Domain& domain, const Choice& choice);

/// The domain with that choice alone.
Domain only(const Choice& choice);

/// The first open option and state of each.
Choice first_choice(const Domain& domain);

}  // namespace reprise::solver
