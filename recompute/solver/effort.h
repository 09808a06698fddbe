// How much the solver may still do: units of work, and the wall clock for emergencies only.
//
// Passed through the searches. Invariant: without a stop by the clock, what is done depends on the work alone.
#pragma once

#include <chrono>
#include <cstdint>

namespace reprise::solver {

struct Effort {
  std::int64_t work = 0;
  std::int64_t limit = 0;
  double wall_seconds = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  bool stopped_by_clock = false;

  std::int64_t left() const { return limit - work; }

  /// Whether to stop here; notes when it was the clock.
  bool over() {
    if (wall_seconds > 0 &&
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > wall_seconds) {
      stopped_by_clock = true;
    }
    return stopped_by_clock || work >= limit;
  }
};

}  // namespace reprise::solver
