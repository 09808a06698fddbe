// Random orders: a permutation that is a function of a seed, a stream and the number of things; of (seed, epoch) for
// the images of an epoch. Called by the loader, the probe and the studies; the same on every machine and for any number
// of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/philox.h"

namespace reprise {

/// Fills `order` with a permutation of 0 .. order.size()-1 (Fisher and Yates, from the last place down), from the
/// Philox stream (seed, id).
template <class Place>
void fill_random_order(std::uint64_t seed, std::uint64_t id, std::span<Place> order) {
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Place>(i);
  PhiloxWords words{};
  for (std::size_t i = order.size(), draw = 0; i > 1; --i, ++draw) {
    if (draw % 4 == 0) words = philox_block(seed, id, draw / 4);
    // A multiply-and-shift draw below i; its bias is at most i / 2^32.
    const std::size_t j = (std::uint64_t{words.w[draw % 4]} * i) >> 32;
    std::swap(order[i - 1], order[j]);
  }
}

/// The order of the images in one epoch.
inline void shuffle_epoch(std::uint64_t seed, std::int64_t epoch, std::span<std::int32_t> order) {
  constexpr std::uint64_t kShuffleStream = std::uint64_t{0x534846} << 40;  // "SHF"
  fill_random_order(seed, kShuffleStream | static_cast<std::uint64_t>(epoch), order);
}

}  // namespace reprise
