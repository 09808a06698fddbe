// Profile: what the parts of one step cost in time on this machine, as medians in whole nanoseconds. Measured by
// StepTimer (step_timer.h) from a few real steps, stored as JSON, and added up by the planner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/region.h"

namespace reprise {

/// Time of moving bytes: fixed_ns + bytes * ns_per_byte + runs * ns_per_run.
struct MoveCost {
  double fixed_ns = 0, ns_per_byte = 0, ns_per_run = 0;
  std::int64_t of(std::int64_t bytes, std::int64_t runs) const {
    return static_cast<std::int64_t>(fixed_ns + ns_per_byte * static_cast<double>(bytes) +
                                     ns_per_run * static_cast<double>(runs) + 0.5);
  }
  friend bool operator==(const MoveCost&, const MoveCost&) = default;
};

struct Profile {
  // Where it was measured: a plan from another place is no plan for this one.
  std::string machine, isa, build;
  int threads = 0;
  std::string trace;      // fingerprint of the step's nodes
  std::string optimiser;  // its name: the rest of a step is its work

  std::vector<std::int64_t> forward_ns;   // per node of a micro-batch
  std::vector<std::int64_t> replay_ns;    // per node; negative: was not replayed, and its forward time stands for it
  std::vector<std::int64_t> backward_ns;  // per node
  std::int64_t rest_ns = 0;               // of a step beside its nodes: optimiser, loader, bookkeeping
  std::int64_t replayed_ns = 0;           // of a step: all its replays
  std::int64_t micro_batches = 1;
  MoveCost copy, gather, exchange;  // a snapshot; a record; opening or closing a block
  std::int64_t moved_ns = 0;        // of a step: preserving and exchanging
  std::int64_t step_ns = 0;         // median of the measured steps, under the plan they ran
  double spread = 0;                // (upper quartile - lower quartile) / median of these

  std::int64_t replay_of(std::size_t node) const {
    if (node >= forward_ns.size()) return 0;
    return node < replay_ns.size() && replay_ns[node] >= 0 ? replay_ns[node] : forward_ns[node];
  }
  /// A step that replays nothing and moves nothing: the measured one less what it replayed and moved.
  std::int64_t base_ns() const;
  friend bool operator==(const Profile&, const Profile&) = default;
};

std::string to_json(const Profile& profile);
/// Errors (user): not a profile, naming `origin` and what was expected.
Profile profile_from_json(const std::string& text, const std::string& origin);

}  // namespace reprise
