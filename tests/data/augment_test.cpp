#include "data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "core/error.h"
#include "core/philox.h"
#include "data/synthetic.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using namespace testing;

const ImageSet& images() {
  static const Dataset set = [] {
    SyntheticOptions options;
    options.train = 400;
    options.test = 1;
    return make_synthetic(options);
  }();
  return set.train;
}

std::vector<float> augmented(const AugmentOptions& options, const AugmentKey& key, const std::uint8_t* planes) {
  std::vector<float> out(kImageFloats);
  augment_image(options, key, planes, out.data());
  return out;
}

/// Undoes the normalising: value of channel c at a pixel, in units of full white.
double light(const std::vector<float>& image, int row, int column, int c) {
  return static_cast<double>(image[static_cast<std::size_t>((row * kImageSide + column) * 3 + c)]) *
             kChannelStd[static_cast<std::size_t>(c)] +
         kChannelMean[static_cast<std::size_t>(c)];
}

// ---- the recipe again, slowly and in double, from its description: torch's affine_grid and grid_sample with
// reflection and align_corners=False, then the colour steps

struct Reference {
  std::vector<double> rgb;  // 1024 x 3
  double u[12];

  Reference(const AugmentOptions& o, const AugmentKey& key, const std::uint8_t* planes) : rgb(kImageBytes) {
    for (int k = 0; k < 12; ++k) {
      const std::uint64_t position = static_cast<std::uint64_t>((key.epoch * 4 + key.view) * 16 + k);
      u[k] = uniform_from_word(
          philox_word(key.seed, (std::uint64_t{0x415547} << 40) + static_cast<std::uint64_t>(key.index), position));
    }
    crop(o, planes);
    if (u[5] < o.jitter_probability) jitter(o);
    if (u[10] < o.grayscale_probability) {
      for (int i = 0; i < kImagePixels; ++i) set(i, {luma(i), luma(i), luma(i)});
    }
  }

  static double reflect(double x) {
    const double low = -0.5, span = 32.0;
    double d = std::fabs(x - low);
    const double flips = std::floor(d / span);
    d -= flips * span;
    const double back = static_cast<long>(flips) % 2 == 0 ? d + low : span - d + low;
    return std::clamp(back, 0.0, 31.0);
  }

  void crop(const AugmentOptions& o, const std::uint8_t* planes) {
    const double area = o.scale_lo + (o.scale_hi - o.scale_lo) * u[0];
    const double ratio = std::exp(std::log(double{o.ratio_lo}) + std::log(double{o.ratio_hi} / o.ratio_lo) * u[1]);
    double w = std::min(1.0, std::sqrt(area * ratio)), h = std::min(1.0, std::sqrt(area / ratio));
    const double cx = (2 * u[2] - 1) * (1 - w), cy = (2 * u[3] - 1) * (1 - h);
    if (u[4] < o.flip_probability) w = -w;
    for (int row = 0; row < kImageSide; ++row) {
      for (int column = 0; column < kImageSide; ++column) {
        const double gx = w * ((2 * column + 1) / 32.0 - 1) + cx, gy = h * ((2 * row + 1) / 32.0 - 1) + cy;
        const double x = reflect(((gx + 1) * 32 - 1) / 2), y = reflect(((gy + 1) * 32 - 1) / 2);
        const int x0 = static_cast<int>(x), y0 = static_cast<int>(y);
        const int x1 = std::min(x0 + 1, 31), y1 = std::min(y0 + 1, 31);
        for (int c = 0; c < 3; ++c) {
          const auto at = [&](int yy, int xx) { return planes[c * kImagePixels + yy * 32 + xx] / 255.0; };
          rgb[static_cast<std::size_t>((row * 32 + column) * 3 + c)] =
              (at(y0, x0) * (1 - (x - x0)) + at(y0, x1) * (x - x0)) * (1 - (y - y0)) +
              (at(y1, x0) * (1 - (x - x0)) + at(y1, x1) * (x - x0)) * (y - y0);
        }
      }
    }
  }

  double* pixel(int i) { return &rgb[static_cast<std::size_t>(i * 3)]; }
  double luma(int i) { return 0.299 * pixel(i)[0] + 0.587 * pixel(i)[1] + 0.114 * pixel(i)[2]; }
  void set(int i, std::array<double, 3> v) { std::copy(v.begin(), v.end(), pixel(i)); }
  void each(const std::function<double(double, double)>& f) {  // value and luma of its pixel
    for (int i = 0; i < kImagePixels; ++i) {
      const double y = luma(i);
      for (int c = 0; c < 3; ++c) pixel(i)[c] = std::clamp(f(pixel(i)[c], y), 0.0, 1.0);
    }
  }

  void jitter(const AugmentOptions& o) {
    const auto factor = [](double s, double v) { return 1 - s + 2 * s * v; };
    const double b = factor(o.brightness, u[6]), k = factor(o.contrast, u[7]), s = factor(o.saturation, u[8]);
    each([&](double v, double) { return v * b; });
    double mean = 0;
    for (int i = 0; i < kImagePixels; ++i) mean += luma(i) / kImagePixels;
    each([&](double v, double) { return mean + (v - mean) * k; });
    each([&](double v, double y) { return y + (v - y) * s; });
    const double a = o.hue * (2 * u[9] - 1) * 2 * M_PI;
    for (int i = 0; i < kImagePixels; ++i) {
      const double *p = pixel(i), y = luma(i);
      const double ci = 0.596 * p[0] - 0.274 * p[1] - 0.321 * p[2], cq = 0.211 * p[0] - 0.523 * p[1] + 0.311 * p[2];
      const double ri = std::cos(a) * ci - std::sin(a) * cq, rq = std::sin(a) * ci + std::cos(a) * cq;
      // The published inverse, to three digits.
      set(i, {std::clamp(y + 0.956 * ri + 0.619 * rq, 0.0, 1.0), std::clamp(y - 0.272 * ri - 0.647 * rq, 0.0, 1.0),
              std::clamp(y - 1.106 * ri + 1.703 * rq, 0.0, 1.0)});
    }
  }
};

TEST(Augment, FollowsTheRecipeOfTheDescription) {
  const AugmentOptions options = AugmentOptions::contrastive();
  double worst = 0, worst_plain = 0;
  for (std::int64_t index = 0; index < 200; ++index) {
    const AugmentKey key{42, index % 3, index, static_cast<int>(index % 2)};
    const std::vector<float> out = augmented(options, key, images().planes(index));
    Reference reference(options, key, images().planes(index));
    const bool jittered = reference.u[5] < options.jitter_probability;
    for (int i = 0; i < kImagePixels; ++i) {
      for (int c = 0; c < 3; ++c) {
        const double difference = std::fabs(light(out, i / 32, i % 32, c) - reference.pixel(i)[c]);
        double& bound = jittered ? worst : worst_plain;
        bound = std::max(bound, difference);
      }
    }
  }
  EXPECT_LT(worst_plain, 3e-6);
  EXPECT_LT(worst, 3e-3);  // the reference's inverse of YIQ has three digits
}

TEST(Augment, DependsOnEachPartOfTheKeyAndOnNothingElse) {
  const AugmentOptions options = AugmentOptions::contrastive();
  const std::uint8_t* planes = images().planes(0);
  const std::vector<float> base = augmented(options, {1, 2, 3, 0}, planes);
  EXPECT_EQ(base, augmented(options, {1, 2, 3, 0}, planes));
  EXPECT_NE(base, augmented(options, {2, 2, 3, 0}, planes));
  EXPECT_NE(base, augmented(options, {1, 3, 3, 0}, planes));
  EXPECT_NE(base, augmented(options, {1, 2, 4, 0}, planes));
  EXPECT_NE(base, augmented(options, {1, 2, 3, 1}, planes));
}

TEST(Augment, DrawsHaveTheStatedProbabilities) {
  const AugmentOptions options = AugmentOptions::contrastive();
  AugmentOptions flips;
  flips.crop = Crop::pad;
  flips.pad = 0;
  // A picture whose left half is red: grayscale and flips can be read off.
  std::vector<std::uint8_t> planes(kImageBytes, 60);
  for (int i = 0; i < kImagePixels; ++i) planes[static_cast<std::size_t>(i)] = i % 32 < 16 ? 200 : 60;
  int grey = 0, flipped = 0;
  const int n = 4000;
  for (int i = 0; i < n; ++i) {
    const std::vector<float> out = augmented(options, {5, 0, i, 0}, planes.data());
    bool all_grey = true;
    for (int p = 0; p < kImagePixels; ++p) {
      all_grey &= std::fabs(light(out, p / 32, p % 32, 0) - light(out, p / 32, p % 32, 2)) < 1e-5;
    }
    grey += all_grey;
    flipped += light(augmented(flips, {5, 0, i, 0}, planes.data()), 0, 0, 0) < 0.5;
  }
  // Four standard deviations; crops that see no red add to the grey ones.
  EXPECT_NEAR(grey / double{n}, 0.22, 0.045);
  EXPECT_NEAR(flipped / double{n}, 0.5, 0.032);
}

TEST(Augment, PadCropMovesAndFlipsWholePixels) {
  AugmentOptions options = AugmentOptions::supervised();
  const std::uint8_t* planes = images().planes(7);
  std::vector<int> seen(9 * 9 * 2, 0);
  for (int i = 0; i < 3000; ++i) {
    const std::vector<float> out = augmented(options, {9, 0, i, 0}, planes);
    int matches = 0;
    for (int dy = -4; dy <= 4; ++dy) {
      for (int dx = -4; dx <= 4; ++dx) {
        for (int flip = 0; flip < 2; ++flip) {
          bool same = true;
          for (int p = 0; p < kImagePixels && same; ++p) {
            const int y = p / 32 + dy, x = (flip ? 31 - p % 32 : p % 32) + dx;
            const double want = y < 0 || y > 31 || x < 0 || x > 31 ? 0.0 : planes[y * 32 + x] / 255.0;
            same = std::fabs(light(out, p / 32, p % 32, 0) - want) < 1e-5;
          }
          if (same) ++seen[static_cast<std::size_t>(((dy + 4) * 9 + dx + 4) * 2 + flip)];
          matches += same;
        }
      }
    }
    ASSERT_EQ(matches, 1);
  }
  for (const int count : seen) EXPECT_GT(count, 0);  // about 18 each are expected
}

TEST(Augment, EvaluationOnlyNormalises) {
  const std::uint8_t* planes = images().planes(3);
  std::vector<float> plain(kImageFloats);
  to_float(planes, plain.data());
  EXPECT_EQ(plain, augmented(AugmentOptions::evaluation(), {1, 2, 3, 0}, planes));
  for (int p = 0; p < kImagePixels; ++p) {
    for (int c = 0; c < 3; ++c)
      ASSERT_NEAR(light(plain, p / 32, p % 32, c), planes[c * kImagePixels + p] / 255.0, 1e-6);
  }
}

TEST(Augment, AWholeImageCropWithoutFlipIsTheImage) {
  AugmentOptions options = AugmentOptions::contrastive();
  options.scale_lo = options.scale_hi = options.ratio_lo = options.ratio_hi = 1.0f;
  options.flip_probability = options.jitter_probability = options.grayscale_probability = 0.0f;
  std::vector<float> plain(kImageFloats);
  to_float(images().planes(11), plain.data());
  const std::vector<float> out = augmented(options, {1, 2, 3, 0}, images().planes(11));
  for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(out[i], plain[i], 1e-5);
}

TEST(Augment, OptionsOutOfRangeAreNamed) {
  const auto expect_named = [](const char* name, const std::function<void(AugmentOptions&)>& change) {
    AugmentOptions options = AugmentOptions::contrastive();
    change(options);
    expect_error(ErrorKind::config, {name}, [&] { options.validate(); });
  };
  expect_named("scale_lo", [](auto& o) {
    o.scale_lo = 0.9f;
    o.scale_hi = 0.5f;
  });
  expect_named("scale_hi", [](auto& o) { o.scale_hi = 1.5f; });
  expect_named("ratio_lo", [](auto& o) { o.ratio_lo = -1.0f; });
  expect_named("pad", [](auto& o) { o.pad = 33; });
  expect_named("jitter_probability", [](auto& o) { o.jitter_probability = NAN; });
  expect_named("brightness", [](auto& o) { o.brightness = 1.1f; });
  expect_named("hue", [](auto& o) { o.hue = 0.6f; });
  expect_named("grayscale_probability", [](auto& o) { o.grayscale_probability = -0.1f; });
  AugmentOptions::contrastive().validate();
  AugmentOptions::supervised().validate();
  AugmentOptions::evaluation().validate();
}

/// A bound that catches a fall by a factor of about ten from what was measured (5 us), not a target.
TEST(Augment, OneImageTakesWellUnderAMillisecond) {
  std::vector<float> out(kImageFloats);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < 100; ++i)
      augment_image(AugmentOptions::contrastive(), {1, round, i, 0}, images().planes(i), out.data());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 100);
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_LT(best, 5e-3);
#else
  EXPECT_LT(best, 1e-4);
#endif
}

}  // namespace
}  // namespace reprise
