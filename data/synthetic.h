// Makes images in CIFAR-100's record layout that can be learnt, so that training needs no download.
//
// A picture is a figure on a ground, each filled with one of ten textures: the figure's texture and the ground's are
// the class (10 x 10 = 100), the figure's texture and half of the ground's the coarse group (20). Everything else is
// nuisance: colours, contrast, light, size, place and shape of the figure, phase, scale, small turns and bends of the
// textures, noise, spots. So a class shows in forms that survive crops, flips, colour jitter and grayscale, while the
// statistics that untrained filters see vary mostly with the nuisance. A record is a function of (seed, split, index).
#pragma once

#include <cstdint>

#include "data/images.h"

namespace reprise {

constexpr int kTextures = 10;

/// How strong the nuisance is. The ranges are uniform; lengths in pixels, colours and light in units of full white.
struct SyntheticKnobs {
  float amplitude_lo = 0.14f, amplitude_hi = 0.32f;  // half the swing of a texture's light
  float period_lo = 0.85f, period_hi = 1.2f;         // factor on a texture's own period
  float turn = 0.10f;                                // radians either way
  float bend = 0.6f;                                 // how far a slow wave shifts the texture
  float base_lo = 0.36f, base_hi = 0.64f;            // mean light of figure and ground
  float chroma = 0.10f;                              // of the base colours
  float tint = 0.05f;                                // colour of a texture's swing
  float light = 0.22f;                               // slope of the lighting from edge to edge, as a factor
  float noise = 0.07f;                               // of each pixel and channel, standard deviation
  float radius_lo = 9.0f, radius_hi = 12.0f;         // of the figure
  float offset = 3.0f;                               // of the figure's centre from the middle
  int spots = 2;                                     // at most, of a plain colour
};

struct SyntheticOptions {
  std::uint64_t seed = 1;
  std::int64_t train = 10000;
  std::int64_t test = 2000;
  SyntheticKnobs knobs;
};

/// Made by all threads of the pool; the bytes do not depend on their number.
/// Errors (user): a count outside 1 to 1,000,000. Throws Interrupted (core/interrupt.h) in the middle of a large set
/// when somebody asks to stop.
Dataset make_synthetic(const SyntheticOptions& options = {});

/// One record (kRecordBytes bytes) of split 0 (train) or 1 (test). Any 100 indices from a multiple of 100 on hold each
/// class once.
void make_synthetic_record(std::uint64_t seed, int split, std::int64_t index, const SyntheticKnobs& knobs,
                           std::uint8_t* record);

}  // namespace reprise
