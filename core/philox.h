// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): a counter-based generator.
//
// A draw is a pure function of (seed, stream id, position), so a replay recomputes it from the stored position and no
// mask is ever kept. Callers: streams (core/stream.h), draw ops, augmentation, initialisers. Compiles for CUDA too.
#pragma once

#include <cstdint>

#include "core/device_seam.h"

namespace reprise {

namespace philox {
/// Multipliers and key increments of the paper (its M and W): also for kernels that run many counters at once.
constexpr std::uint32_t kM0 = 0xD2511F53u, kM1 = 0xCD9E8D57u, kW0 = 0x9E3779B9u, kW1 = 0xBB67AE85u;
constexpr int kRounds = 10;
}  // namespace philox

struct PhiloxWords {
  std::uint32_t w[4];
};

/// The ten rounds on one counter block and key.
REPRISE_HOST_DEVICE inline PhiloxWords philox4x32(PhiloxWords c, std::uint32_t k0, std::uint32_t k1) {
  for (int round = 0; round < philox::kRounds; ++round) {
    std::uint64_t p0 = std::uint64_t{philox::kM0} * c.w[0];
    std::uint64_t p1 = std::uint64_t{philox::kM1} * c.w[2];
    c = PhiloxWords{{static_cast<std::uint32_t>(p1 >> 32) ^ c.w[1] ^ k0, static_cast<std::uint32_t>(p1),
                     static_cast<std::uint32_t>(p0 >> 32) ^ c.w[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += philox::kW0;
    k1 += philox::kW1;
  }
  return c;
}

/// The four words that cover positions 4*block .. 4*block+3 of stream (seed, id).
REPRISE_HOST_DEVICE inline PhiloxWords philox_block(std::uint64_t seed, std::uint64_t id, std::uint64_t block) {
  return philox4x32(PhiloxWords{{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                 static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)}},
                    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// The word at one position of stream (seed, id).
REPRISE_HOST_DEVICE inline std::uint32_t philox_word(std::uint64_t seed, std::uint64_t id, std::uint64_t position) {
  return philox_block(seed, id, position / 4).w[position % 4];
}

/// Uniform in [0, 1), a multiple of 2^-24, exact in f32.
REPRISE_HOST_DEVICE inline float uniform_from_word(std::uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
}

}  // namespace reprise
