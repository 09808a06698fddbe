// Random crops, flips and colour changes of one image, straight into normalised floats in channels-last order.
//
// Every random number is a Philox function of (seed, epoch, image index, view), so the bytes depend neither on threads
// nor on prefetch nor on which batch an image is in. Callers: the loader, evaluation. Works on the stack; never throws.
// The recipe is that of MoCo v2 (Chen et al., 2020) without blur; hue turns the chroma plane of YIQ.
#pragma once

#include <array>
#include <cstdint>

#include "data/images.h"

namespace reprise {

/// Of the CIFAR-100 training set, per channel, in units of full white.
constexpr std::array<float, 3> kChannelMean = {0.5071f, 0.4865f, 0.4409f};
constexpr std::array<float, 3> kChannelStd = {0.2673f, 0.2564f, 0.2762f};
/// Floats of one image, 32 x 32 x 3, channels last.
constexpr int kImageFloats = kImageBytes;

enum class Crop : std::uint8_t {
  none,     // the image as it is
  pad,      // `pad` black pixels around, then a random 32 x 32 window; flipped with flip_probability
  resized,  // a random rectangle of the image, resized to 32 x 32; flipped with flip_probability
};

struct AugmentOptions {
  Crop crop = Crop::none;
  float scale_lo = 0.2f, scale_hi = 1.0f;                // area of the rectangle, part of the image
  float ratio_lo = 3.0f / 4.0f, ratio_hi = 4.0f / 3.0f;  // width over height, uniform in its logarithm
  int pad = 4;
  float flip_probability = 0.5f;
  float jitter_probability = 0.0f;                              // of the four below, together
  float brightness = 0.4f, contrast = 0.4f, saturation = 0.4f;  // factor from 1 - s to 1 + s
  float hue = 0.1f;                                             // turns, either way
  float grayscale_probability = 0.0f;

  /// Resized crop, flip, jitter with probability 0.8, grayscale with 0.2.
  static AugmentOptions contrastive();
  /// Pad-4 crop and flip.
  static AugmentOptions supervised();
  /// Nothing but normalising.
  static AugmentOptions evaluation();
  /// Errors (config): a value out of its range, named.
  void validate() const;
};

/// Which draws an image gets. `index` is its place in the set, `view` 0 or 1 (of up to 4).
struct AugmentKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t index = 0;
  int view = 0;
};

/// Writes kImageFloats floats. `options` have been validated.
void augment_image(const AugmentOptions& options, const AugmentKey& key, const std::uint8_t* planes, float* out);

/// Evaluation: (value / 255 - mean) / std, channels last.
void to_float(const std::uint8_t* planes, float* out);

}  // namespace reprise
