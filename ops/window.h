// Shared by convolution and pooling: a pair of numbers for the two image axes, and the geometry of a sliding window.
#pragma once

#include <cstdint>

namespace reprise {

/// (height, width); one number stands for both.
struct Pair {
  std::int64_t h = 1, w = 1;
  constexpr Pair(std::int64_t both) : h(both), w(both) {}  // NOLINT: `.stride = 2` reads as meant
  constexpr Pair(int both) : Pair(static_cast<std::int64_t>(both)) {}  // NOLINT
  constexpr Pair(std::int64_t height, std::int64_t width) : h(height), w(width) {}
  friend constexpr bool operator==(const Pair&, const Pair&) = default;
};

/// Number of window positions along one axis; 0 or less when the window does not fit.
constexpr std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                                    std::int64_t dilation) {
  std::int64_t room = extent + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace reprise
