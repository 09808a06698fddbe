// Shared by convolution and pooling: a pair of numbers for the two image axes, and the geometry of a sliding window.
// Plain numbers: the shape rules of conv2d and the pools have checked them.
#pragma once

#include <cstdint>

namespace reprise {

/// (height, width); one number stands for both.
struct Pair {
  std::int64_t h = 1, w = 1;
  constexpr Pair(std::int64_t both) : h(both), w(both) {}              // NOLINT: `.stride = 2` reads as meant
  constexpr Pair(int both) : Pair(static_cast<std::int64_t>(both)) {}  // NOLINT
  constexpr Pair(std::int64_t height, std::int64_t width) : h(height), w(width) {}
  friend constexpr bool operator==(const Pair&, const Pair&) = default;
};

/// Number of window positions along one axis; 0 when the window does not fit, or is of numbers beyond 64 bits.
constexpr std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                                    std::int64_t dilation) {
  std::int64_t reach = 0, padded = 0;
  if (__builtin_mul_overflow(dilation, kernel - 1, &reach) || __builtin_mul_overflow(padding, 2, &padded) ||
      __builtin_add_overflow(padded, extent, &padded)) {
    return 0;
  }
  std::int64_t room = padded - reach - 1;
  return room < 0 ? 0 : room / stride + 1;
}

/// All that a convolution kernel needs to know besides its pointers. Activations NHWC, weight OIHW, all contiguous.
struct ConvGeometry {
  std::int64_t n = 0, h = 0, w = 0, in = 0;  // x
  std::int64_t oh = 0, ow = 0, out = 0;      // y
  std::int64_t kh = 0, kw = 0;
  Pair stride = 1, padding = 0, dilation = 1;
  std::int64_t groups = 1;
  bool bias = false;

  std::int64_t x_size() const { return n * h * w * in; }
  std::int64_t y_size() const { return n * oh * ow * out; }
  std::int64_t weight_size() const { return out * (in / groups) * kh * kw; }
  friend bool operator==(const ConvGeometry&, const ConvGeometry&) = default;
};

enum class ConvPass : std::uint8_t { forward, backward_data, backward_weights };

}  // namespace reprise
