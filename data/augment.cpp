#include "data/augment.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/philox.h"
#include "data/clamp.h"

namespace reprise {
namespace {

constexpr std::uint64_t kAugmentStream = std::uint64_t{0x415547} << 40;  // "AUG"; the image's index in the low bits
constexpr float kLuma[3] = {0.299f, 0.587f, 0.114f};
constexpr float kTwoPi = 6.28318530717958648f;

using internal::larger;
using internal::smaller;

inline float clamp01(float v) { return internal::clamp_to(v, 0.0f, 1.0f); }

/// All draws of one view; each has its fixed word, used or not, so that an option changes no other draw.
struct ViewDraws {
  float u[12];

  explicit ViewDraws(const AugmentKey& key) {
    const std::uint64_t id = kAugmentStream | static_cast<std::uint64_t>(key.index);
    const std::uint64_t first = (static_cast<std::uint64_t>(key.epoch) * 4 + static_cast<std::uint64_t>(key.view)) * 4;
    for (std::uint64_t block = 0; block < 3; ++block) {
      const PhiloxWords words = philox_block(key.seed, id, first + block);
      for (int i = 0; i < 4; ++i) u[block * 4 + static_cast<std::uint64_t>(i)] = uniform_from_word(words.w[i]);
    }
  }
  float area() const { return u[0]; }
  float ratio() const { return u[1]; }
  float place_x() const { return u[2]; }
  float place_y() const { return u[3]; }
  float flip() const { return u[4]; }
  float jitter() const { return u[5]; }
  float brightness() const { return u[6]; }
  float contrast() const { return u[7]; }
  float saturation() const { return u[8]; }
  float hue() const { return u[9]; }
  float grayscale() const { return u[10]; }
};

/// Where output pixel i of one axis comes from: between input pixels lo and hi, at `part` of the way.
struct Axis {
  int lo[kImageSide], hi[kImageSide];
  float part[kImageSide];
};

/// `extent` and `centre` as of torch's affine_grid with align_corners=False: the output covers [centre - extent,
/// centre + extent] of an input that covers [-1, 1]. The rectangle lies inside the image, so reflection at the border
/// (half a pixel outside the outermost centres) reaches only the outermost pixel itself: a clamp.
void fill_axis(float extent, float centre, bool flipped, Axis& axis) {
  for (int i = 0; i < kImageSide; ++i) {
    const float t = (2.0f * static_cast<float>(i) + 1.0f) / kImageSide - 1.0f;
    const float place = ((centre + (flipped ? -extent : extent) * t + 1.0f) * kImageSide - 1.0f) * 0.5f;
    const float inside = smaller(larger(place, 0.0f), static_cast<float>(kImageSide - 1));
    axis.lo[i] = static_cast<int>(inside);
    axis.hi[i] = std::min(axis.lo[i] + 1, kImageSide - 1);
    axis.part[i] = inside - static_cast<float>(axis.lo[i]);
  }
}

/// Bilinear: two rows are blended over the whole width, then picked by column. Results in units of full white.
void resized_crop(const AugmentOptions& o, const ViewDraws& d, const std::uint8_t* planes, float* out) {
  const float area = o.scale_lo + (o.scale_hi - o.scale_lo) * d.area();
  const float log_lo = std::log(o.ratio_lo), log_hi = std::log(o.ratio_hi);
  const float ratio = std::exp(log_lo + (log_hi - log_lo) * d.ratio());
  const float width = smaller(std::sqrt(area * ratio), 1.0f), height = smaller(std::sqrt(area / ratio), 1.0f);
  Axis across, down;
  fill_axis(width, (2.0f * d.place_x() - 1.0f) * (1.0f - width), d.flip() < o.flip_probability, across);
  fill_axis(height, (2.0f * d.place_y() - 1.0f) * (1.0f - height), false, down);
  float image[kImagePixels], row_of[kImageSide];
  for (int c = 0; c < kImageChannels; ++c) {
    for (int i = 0; i < kImagePixels; ++i)
      image[i] = static_cast<float>(planes[c * kImagePixels + i]) * (1.0f / 255.0f);
    for (int row = 0; row < kImageSide; ++row) {
      const float* above = image + down.lo[row] * kImageSide;
      const float* below = image + down.hi[row] * kImageSide;
      const float part = down.part[row];
      for (int i = 0; i < kImageSide; ++i) row_of[i] = above[i] + (below[i] - above[i]) * part;
      float* to = out + c * kImagePixels + row * kImageSide;
      for (int i = 0; i < kImageSide; ++i) {
        const float left = row_of[across.lo[i]];
        to[i] = left + (row_of[across.hi[i]] - left) * across.part[i];
      }
    }
  }
}

void pad_crop(const AugmentOptions& o, const ViewDraws& d, const std::uint8_t* planes, float* out) {
  const float places = static_cast<float>(2 * o.pad + 1);
  const int shift_x = std::min(static_cast<int>(d.place_x() * places), 2 * o.pad) - o.pad;
  const int shift_y = std::min(static_cast<int>(d.place_y() * places), 2 * o.pad) - o.pad;
  const bool flipped = d.flip() < o.flip_probability;
  for (int c = 0; c < kImageChannels; ++c) {
    for (int row = 0; row < kImageSide; ++row) {
      float* to = out + c * kImagePixels + row * kImageSide;
      const int from_row = row + shift_y;
      if (from_row < 0 || from_row >= kImageSide) {
        std::fill(to, to + kImageSide, 0.0f);
        continue;
      }
      const std::uint8_t* from = planes + c * kImagePixels + from_row * kImageSide;
      for (int i = 0; i < kImageSide; ++i) {
        const int column = (flipped ? kImageSide - 1 - i : i) + shift_x;
        const bool inside = column >= 0 && column < kImageSide;
        to[i] = inside ? static_cast<float>(from[column]) * (1.0f / 255.0f) : 0.0f;
      }
    }
  }
}

float luma(float r, float g, float b) { return kLuma[0] * r + kLuma[1] * g + kLuma[2] * b; }

/// The chroma plane of YIQ turned by `turns`, as a matrix on RGB. The rows are exact inverses to within f32 rounding:
/// the forward matrix is FCC's, the inverse is computed from it in f64 once.
void hue_matrix(float turns, float m[3][3]) {
  static constexpr double kYiq[3][3] = {{0.299, 0.587, 0.114}, {0.596, -0.274, -0.321}, {0.211, -0.523, 0.311}};
  static const std::array<std::array<double, 3>, 3> kInverse = [] {
    std::array<std::array<double, 3>, 3> inverse{};
    const auto& a = kYiq;
    double determinant = 0.0;
    for (int j = 0; j < 3; ++j) {
      determinant += a[0][j] * (a[1][(j + 1) % 3] * a[2][(j + 2) % 3] - a[1][(j + 2) % 3] * a[2][(j + 1) % 3]);
    }
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const int r1 = (j + 1) % 3, r2 = (j + 2) % 3, c1 = (i + 1) % 3, c2 = (i + 2) % 3;
        inverse[i][j] = (a[r1][c1] * a[r2][c2] - a[r1][c2] * a[r2][c1]) / determinant;
      }
    }
    return inverse;
  }();
  const double angle = static_cast<double>(turns) * kTwoPi, cosine = std::cos(angle), sine = std::sin(angle);
  for (int j = 0; j < 3; ++j) {
    const double y = kYiq[0][j];
    const double i = cosine * kYiq[1][j] - sine * kYiq[2][j];
    const double q = sine * kYiq[1][j] + cosine * kYiq[2][j];
    for (int k = 0; k < 3; ++k)
      m[k][j] = static_cast<float>(kInverse[k][0] * y + kInverse[k][1] * i + kInverse[k][2] * q);
  }
}

/// Brightness, in place, and the mean luma afterwards, summed in eight lanes in a fixed order.
float brighten(float factor, float* planes) {
  float lanes[8] = {};
  float *r = planes, *g = planes + kImagePixels, *b = planes + 2 * kImagePixels;
  for (int i = 0; i < kImagePixels; i += 8) {
    for (int k = 0; k < 8; ++k) {
      r[i + k] = clamp01(r[i + k] * factor);
      g[i + k] = clamp01(g[i + k] * factor);
      b[i + k] = clamp01(b[i + k] * factor);
      lanes[k] += luma(r[i + k], g[i + k], b[i + k]);
    }
  }
  float sum = 0.0f;
  for (const float lane : lanes) sum += lane;
  return sum / kImagePixels;
}

/// Contrast, saturation and hue in one pass.
void recolour(float mean, float contrast, float saturation, const float m[3][3], float* planes) {
  float *r = planes, *g = planes + kImagePixels, *b = planes + 2 * kImagePixels;
  for (int i = 0; i < kImagePixels; ++i) {
    float x = clamp01(mean + (r[i] - mean) * contrast);
    float y = clamp01(mean + (g[i] - mean) * contrast);
    float z = clamp01(mean + (b[i] - mean) * contrast);
    const float grey = luma(x, y, z);
    x = clamp01(grey + (x - grey) * saturation);
    y = clamp01(grey + (y - grey) * saturation);
    z = clamp01(grey + (z - grey) * saturation);
    r[i] = clamp01(m[0][0] * x + m[0][1] * y + m[0][2] * z);
    g[i] = clamp01(m[1][0] * x + m[1][1] * y + m[1][2] * z);
    b[i] = clamp01(m[2][0] * x + m[2][1] * y + m[2][2] * z);
  }
}

void jitter_colours(const AugmentOptions& o, const ViewDraws& d, float* planes) {
  const auto factor = [](float strength, float u) { return 1.0f - strength + 2.0f * strength * u; };
  const float mean = brighten(factor(o.brightness, d.brightness()), planes);
  float turn[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  if (o.hue > 0.0f) hue_matrix(o.hue * (2.0f * d.hue() - 1.0f), turn);
  recolour(mean, factor(o.contrast, d.contrast()), factor(o.saturation, d.saturation()), turn, planes);
}

void to_grey(float* planes) {
  float *r = planes, *g = planes + kImagePixels, *b = planes + 2 * kImagePixels;
  for (int i = 0; i < kImagePixels; ++i) r[i] = g[i] = b[i] = luma(r[i], g[i], b[i]);
}

/// Planes of full-white units into normalised channels-last floats.
void normalise(const float* planes, float* out) {
  const float *r = planes, *g = planes + kImagePixels, *b = planes + 2 * kImagePixels;
  for (int i = 0; i < kImagePixels; ++i) {
    out[3 * i] = (r[i] - kChannelMean[0]) * (1.0f / kChannelStd[0]);
    out[3 * i + 1] = (g[i] - kChannelMean[1]) * (1.0f / kChannelStd[1]);
    out[3 * i + 2] = (b[i] - kChannelMean[2]) * (1.0f / kChannelStd[2]);
  }
}

void check_range(const char* name, double value, double lo, double hi) {
  if (!(value >= lo && value <= hi)) {
    fail(ErrorKind::config, "[augment] expected {} from {} to {}, got {}", name, lo, hi, value);
  }
}

}  // namespace

AugmentOptions AugmentOptions::contrastive() {
  AugmentOptions o;
  o.crop = Crop::resized;
  o.jitter_probability = 0.8f;
  o.grayscale_probability = 0.2f;
  return o;
}

AugmentOptions AugmentOptions::supervised() {
  AugmentOptions o;
  o.crop = Crop::pad;
  return o;
}

AugmentOptions AugmentOptions::evaluation() {
  AugmentOptions o;
  o.flip_probability = 0.0f;
  return o;
}

void AugmentOptions::validate() const {
  check_range("scale_hi", scale_hi, 0.01, 1.0);
  check_range("scale_lo", scale_lo, 0.01, scale_hi);
  check_range("ratio_hi", ratio_hi, 0.1, 10.0);
  check_range("ratio_lo", ratio_lo, 0.1, ratio_hi);
  check_range("pad", pad, 0, kImageSide);
  check_range("flip_probability", flip_probability, 0.0, 1.0);
  check_range("jitter_probability", jitter_probability, 0.0, 1.0);
  check_range("brightness", brightness, 0.0, 1.0);
  check_range("contrast", contrast, 0.0, 1.0);
  check_range("saturation", saturation, 0.0, 1.0);
  check_range("hue", hue, 0.0, 0.5);
  check_range("grayscale_probability", grayscale_probability, 0.0, 1.0);
}

void augment_image(const AugmentOptions& options, const AugmentKey& key, const std::uint8_t* planes, float* out) {
  if (options.crop == Crop::none && options.jitter_probability <= 0.0f && options.grayscale_probability <= 0.0f) {
    to_float(planes, out);
    return;
  }
  const ViewDraws draws(key);
  alignas(64) float image[kImageBytes];
  switch (options.crop) {
    case Crop::resized: resized_crop(options, draws, planes, image); break;
    case Crop::pad: pad_crop(options, draws, planes, image); break;
    case Crop::none:
      for (int i = 0; i < kImageBytes; ++i) image[i] = static_cast<float>(planes[i]) * (1.0f / 255.0f);
      break;
  }
  if (draws.jitter() < options.jitter_probability) jitter_colours(options, draws, image);
  if (draws.grayscale() < options.grayscale_probability) to_grey(image);
  normalise(image, out);
}

void to_float(const std::uint8_t* planes, float* out) {
  for (int c = 0; c < kImageChannels; ++c) {
    const float scale = 1.0f / kChannelStd[static_cast<std::size_t>(c)];
    const float mean = kChannelMean[static_cast<std::size_t>(c)];
    for (int i = 0; i < kImagePixels; ++i) {
      out[3 * i + c] = (static_cast<float>(planes[c * kImagePixels + i]) * (1.0f / 255.0f) - mean) * scale;
    }
  }
}

}  // namespace reprise
