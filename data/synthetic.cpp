#include "data/synthetic.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/philox.h"
#include "data/textures.h"

namespace reprise {
namespace {

using internal::clamp_to;
using internal::larger;
using internal::TexturePose;

static_assert(std::size(internal::kPaintTexture) == kTextures);
static_assert(std::size(internal::kTextureNames) == kTextures);

constexpr std::int64_t kMaxImages = 1'000'000;
constexpr std::int64_t kImagesBetweenLooks = 4096;  // at stop_requested(): a part of a second
// Stream ids of this file: far from those of augmentation and shuffling. The split and the index follow in the low
// bits.
constexpr std::uint64_t kImageStream = std::uint64_t{0x53594e} << 40;  // "SYN"
constexpr std::uint64_t kLabelStream = std::uint64_t{0x53594c} << 40;  // "SYL"
constexpr std::uint64_t kNoiseStream = std::uint64_t{0x53595a} << 40;  // "SYZ"

std::uint64_t stream_of(std::uint64_t base, int split, std::int64_t index) {
  return base | static_cast<std::uint64_t>(split) << 32 | static_cast<std::uint64_t>(index);
}

/// Uniform numbers in order from one stream.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t id) : seed_(seed), id_(id) {}
  std::uint32_t word() {
    if (used_ == 4) {
      words_ = philox_block(seed_, id_, block_++);
      used_ = 0;
    }
    return words_.w[used_++];
  }
  float unit() { return uniform_from_word(word()); }
  float range(float lo, float hi) { return lo + (hi - lo) * unit(); }
  float either(float size) { return range(-size, size); }
  int below(int n) { return static_cast<int>((std::uint64_t{word()} * static_cast<std::uint64_t>(n)) >> 32); }

 private:
  std::uint64_t seed_, id_, block_ = 0;
  PhiloxWords words_{};
  int used_ = 4;
};

/// Each run of 100 indices holds every class once, in an order of its own: i -> (a i + c) mod 100 with a prime to 100.
int class_of(std::uint64_t seed, int split, std::int64_t index) {
  constexpr int kPrimeTo100[] = {1,  3,  7,  9,  11, 13, 17, 19, 21, 23, 27, 29, 31, 33, 37, 39, 41, 43, 47, 49,
                                 51, 53, 57, 59, 61, 63, 67, 69, 71, 73, 77, 79, 81, 83, 87, 89, 91, 93, 97, 99};
  Draws draws(seed, stream_of(kLabelStream, split, index / kFineLabels));
  const int a = kPrimeTo100[draws.below(std::size(kPrimeTo100))];
  const int c = draws.below(kFineLabels);
  return (a * static_cast<int>(index % kFineLabels) + c) % kFineLabels;
}

TexturePose draw_pose(Draws& draws, const SyntheticKnobs& k) {
  TexturePose t{};
  // The square root keeps the pose a rotation to within the size of the turn squared, without a library sine.
  t.sin_turn = draws.either(k.turn);
  t.cos_turn = std::sqrt(1.0f - t.sin_turn * t.sin_turn);
  t.scale = 1.0f / draws.range(k.period_lo, k.period_hi);
  t.phase_x = draws.either(16.0f);
  t.phase_y = draws.either(16.0f);
  t.bend = draws.either(k.bend);
  t.bend_period = draws.range(16.0f, 32.0f);
  t.bend_phase = draws.unit();
  // Rings and spokes start inside the picture, wherever the phase has moved it.
  t.centre_x = t.phase_x + draws.either(7.0f);
  t.centre_y = t.phase_y + draws.either(7.0f);
  for (auto& w : t.cloud) {
    // A direction without sine and cosine: a point of the square, put on the circle.
    float x = draws.either(1.0f), y = draws.either(1.0f);
    const float length = std::sqrt(x * x + y * y) + 1e-3f;
    const float frequency = draws.range(0.06f, 0.13f);
    w[0] = x / length * frequency;
    w[1] = y / length * frequency;
    w[2] = draws.unit();
  }
  return t;
}

struct Colours {
  float base[3];   // of the plain surface
  float swing[3];  // what the texture adds at +1
};

Colours draw_colours(Draws& draws, const SyntheticKnobs& k) {
  Colours c;
  const float light = draws.range(k.base_lo, k.base_hi);
  const float amplitude = draws.range(k.amplitude_lo, k.amplitude_hi) * (draws.unit() < 0.5f ? -1.0f : 1.0f);
  for (int channel = 0; channel < 3; ++channel) {
    c.base[channel] = light + draws.either(k.chroma);
    c.swing[channel] = amplitude + draws.either(k.tint);
  }
  return c;
}

/// How much each pixel belongs to the figure, 0 to 1 with a soft edge: a disc, a square or a diamond.
void draw_figure(Draws& draws, const SyntheticKnobs& k, float* mask) {
  const float centre_x = 15.5f + draws.either(k.offset), centre_y = 15.5f + draws.either(k.offset);
  const float radius = draws.range(k.radius_lo, k.radius_hi);
  const int shape = draws.below(3);
  // Weights of the three norms whose balls are the shapes; the factors keep their areas alike.
  const float disc = shape == 0 ? 1.0f : 0.0f, square = shape == 1 ? 1.13f : 0.0f, diamond = shape == 2 ? 0.8f : 0.0f;
  for (int row = 0; row < kImageSide; ++row) {
    const float y = std::fabs(static_cast<float>(row) - centre_y);
    for (int column = 0; column < kImageSide; ++column) {
      const float x = std::fabs(static_cast<float>(column) - centre_x);
      const float distance = disc * std::sqrt(x * x + y * y) + square * larger(x, y) + diamond * (x + y);
      mask[row * kImageSide + column] = clamp_to(radius - distance + 0.5f, 0.0f, 1.0f);
    }
  }
}

struct Spot {
  float x, y, radius, colour[3];
};

void paint_spot(const Spot& spot, float* planes) {
  const int top = std::max(0, static_cast<int>(spot.y - spot.radius));
  const int bottom = std::min(kImageSide - 1, static_cast<int>(spot.y + spot.radius) + 1);
  for (int row = top; row <= bottom; ++row) {
    const float dy = static_cast<float>(row) - spot.y;
    for (int column = 0; column < kImageSide; ++column) {
      const float dx = static_cast<float>(column) - spot.x;
      const float inside = clamp_to(spot.radius * spot.radius - dx * dx - dy * dy, 0.0f, 1.0f);
      for (int c = 0; c < 3; ++c) {
        float& value = planes[c * kImagePixels + row * kImageSide + column];
        value += inside * (spot.colour[c] - value);
      }
    }
  }
}

/// Four uniform bytes summed and centred come close to a normal distribution: standard deviation 147.8.
float noise_from(std::uint32_t w) {
  const auto sum = static_cast<int>((w & 255u) + ((w >> 8) & 255u) + ((w >> 16) & 255u) + (w >> 24));
  return static_cast<float>(sum - 510) * (1.0f / 147.8f);
}

/// Adds noise and turns values into bytes. The three channels take their words from one drawn word by multiplication.
void finish(std::uint64_t seed, std::uint64_t noise_id, float strength, const float* planes, std::uint8_t* bytes) {
  float shade[3][kImagePixels];
  for (int block = 0; block < kImagePixels / 4; ++block) {
    const PhiloxWords words = philox_block(seed, noise_id, static_cast<std::uint64_t>(block));
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t w = words.w[i];
      shade[0][block * 4 + i] = noise_from(w);
      shade[1][block * 4 + i] = noise_from(w * 0x9E3779B1u);
      shade[2][block * 4 + i] = noise_from(w * 0x85EBCA77u);
    }
  }
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < kImagePixels; ++i) {
      const float value = 255.0f * (planes[c * kImagePixels + i] + strength * shade[c][i]) + 0.5f;
      bytes[c * kImagePixels + i] = static_cast<std::uint8_t>(static_cast<int>(clamp_to(value, 0.0f, 255.0f)));
    }
  }
}

void compose(const float* figure, const float* ground, const float* mask, const Colours& front, const Colours& back,
             float light_x, float light_y, float* planes) {
  for (int c = 0; c < 3; ++c) {
    for (int row = 0; row < kImageSide; ++row) {
      const float across = 1.0f + light_y * (static_cast<float>(row) - 15.5f) * (1.0f / 31.0f);
      for (int column = 0; column < kImageSide; ++column) {
        const int i = row * kImageSide + column;
        const float f = front.base[c] + front.swing[c] * figure[i];
        const float g = back.base[c] + back.swing[c] * ground[i];
        const float light = across + light_x * (static_cast<float>(column) - 15.5f) * (1.0f / 31.0f);
        planes[c * kImagePixels + i] = (g + mask[i] * (f - g)) * light;
      }
    }
  }
}

}  // namespace

void make_synthetic_record(std::uint64_t seed, int split, std::int64_t index, const SyntheticKnobs& knobs,
                           std::uint8_t* record) {
  const int label = class_of(seed, split, index);
  record[0] = static_cast<std::uint8_t>(label / (kFineLabels / kCoarseLabels));
  record[1] = static_cast<std::uint8_t>(label);

  Draws draws(seed, stream_of(kImageStream, split, index));
  float figure[kImagePixels], ground[kImagePixels], mask[kImagePixels], planes[kImageBytes];
  internal::kPaintTexture[label / kTextures](draw_pose(draws, knobs), figure);
  internal::kPaintTexture[label % kTextures](draw_pose(draws, knobs), ground);
  draw_figure(draws, knobs, mask);
  const Colours front = draw_colours(draws, knobs);
  const Colours back = draw_colours(draws, knobs);
  const float light_x = draws.either(knobs.light), light_y = draws.either(knobs.light);
  compose(figure, ground, mask, front, back, light_x, light_y, planes);
  for (int spots = draws.below(knobs.spots + 1); spots > 0; --spots) {
    Spot spot{draws.range(0, 31), draws.range(0, 31), draws.range(1.5f, 3.5f), {}};
    for (float& colour : spot.colour) colour = draws.range(0.2f, 0.8f);
    paint_spot(spot, planes);
  }
  finish(seed, stream_of(kNoiseStream, split, index), knobs.noise, planes, record + 2);
}

Dataset make_synthetic(const SyntheticOptions& options) {
  Dataset set;
  const auto make_split = [&](int split, std::int64_t count, ImageSet& images) {
    if (count < 1 || count > kMaxImages) {
      fail(ErrorKind::user, "[synthetic] expected 1 to {} images, got {}", kMaxImages, count);
    }
    images.records.resize(static_cast<std::size_t>(count * kRecordBytes));
    for (std::int64_t first = 0; first < count; first += kImagesBetweenLooks) {
      if (first > 0 && stop_requested()) throw Interrupted{"making images"};
      parallel_blocks(std::min(kImagesBetweenLooks, count - first), 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = first + begin; i < first + end; ++i) {
          make_synthetic_record(options.seed, split, i, options.knobs, images.records.data() + i * kRecordBytes);
        }
      });
    }
  };
  make_split(0, options.train, set.train);
  make_split(1, options.test, set.test);
  for (const char* figure : internal::kTextureNames) {
    for (const char* ground : internal::kTextureNames)
      set.fine_names.push_back(fmt::format("{}_on_{}", figure, ground));
    for (const char* half : {"a", "b"}) set.coarse_names.push_back(fmt::format("{}_on_half_{}", figure, half));
  }
  set.origin = fmt::format("synthetic images, seed {}", options.seed);
  return set;
}

}  // namespace reprise
