// Named random streams: (seed, id, position). The position is a plain value that is saved and restored with a run.
//
// Ops that draw take a position range through the tape, once, in forward order; a replay reuses the stored position.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "core/philox.h"

namespace reprise {

struct Stream {
  std::string name;
  std::uint64_t seed = 0;
  std::uint64_t id = 0;
  std::uint64_t position = 0;

  /// Takes `count` positions and returns the first.
  std::uint64_t take(std::uint64_t count) {
    std::uint64_t first = position;
    position += count;
    return first;
  }
};

/// What a recorded draw needs to be repeated: the stream's identity and the first position.
struct DrawRange {
  std::uint64_t seed = 0;
  std::uint64_t id = 0;
  std::uint64_t position = 0;
  std::uint64_t count = 0;

  float uniform(std::uint64_t i) const { return uniform_from_word(philox_word(seed, id, position + i)); }
};

/// Two independent standard normal numbers from two words (Box and Muller, 1958); f64 inside, so that they are the same
/// everywhere.
inline std::pair<float, float> normal_pair(std::uint32_t a, std::uint32_t b) {
  double u = (static_cast<double>(a) + 1.0) * (1.0 / 4294967296.0);
  double v = static_cast<double>(b) * (1.0 / 4294967296.0);
  double r = std::sqrt(-2.0 * std::log(u));
  double t = 6.283185307179586476925286766559 * v;
  return {static_cast<float>(r * std::cos(t)), static_cast<float>(r * std::sin(t))};
}

}  // namespace reprise
