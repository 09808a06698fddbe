// The sizes and layers of the encoder: what a preset stands for, and what a configuration makes of it. Called by the
// models and the trainer.
//
// Keys of the encoder are 0 or empty where the preset decides, so that changing the preset changes everything with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/augment.h"
#include "models/config/config.h"

namespace reprise {

enum class NormKind : std::uint8_t { batch, group };
enum class ActivationKind : std::uint8_t { relu, silu };

struct EncoderSizes {
  std::vector<std::int64_t> widths;    // channels of each stage; every stage but the first halves the image
  std::int64_t blocks = 2;             // residual blocks of each stage
  std::int64_t projection_hidden = 0;  // width of the projection's hidden layer
  std::int64_t projection_out = 0;     // width of a key
  std::int64_t queue_rows = 0;         // keys in the queue
  NormKind norm = NormKind::batch;
  std::int64_t groups = 8;  // of neighbouring channels, with group normalisation; divides the channels of both presets
  ActivationKind activation = ActivationKind::relu;
};

/// The preset "small" or "resnet18". Errors (user) on another name.
EncoderSizes preset_sizes(const std::string& preset);

/// The preset of the configuration with the keys that override it. Projection and queue are those of the preset where
/// the model type has no such keys. Errors (config): widths that are no whole numbers or too many; groups that do not
/// divide the channels of a stage.
EncoderSizes encoder_sizes(const Config& config);

/// The keys augment.*, checked. Errors (config) name the key.
AugmentOptions augment_options(const Config& config);

}  // namespace reprise
