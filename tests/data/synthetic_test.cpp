#include "data/synthetic.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "data/cifar100.h"
#include "data/textures.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using namespace testing;

SyntheticOptions sized(std::int64_t train, std::int64_t test) {
  SyntheticOptions options;
  options.train = train;
  options.test = test;
  return options;
}

TEST(Synthetic, BytesDoNotDependOnThreadsOrOnTheSetsSize) {
  set_thread_count(1);
  const Dataset one = make_synthetic(sized(300, 100));
  set_thread_count(2);
  const Dataset two = make_synthetic(sized(500, 200));
  set_thread_count(1);
  EXPECT_TRUE(std::equal(one.train.records.begin(), one.train.records.end(), two.train.records.begin()));
  EXPECT_TRUE(std::equal(one.test.records.begin(), one.test.records.end(), two.test.records.begin()));
}

TEST(Synthetic, ALargeSetIsLeftUnmadeWhenSomebodyAsksToStop) {
  request_stop();
  EXPECT_NO_THROW(make_synthetic(sized(100, 1)));
  EXPECT_THROW(make_synthetic(sized(5000, 1)), Interrupted);
  clear_stop_request();
}

TEST(Synthetic, SplitsSeedsAndIndicesDiffer) {
  SyntheticOptions options = sized(200, 200);
  const Dataset a = make_synthetic(options);
  options.seed = 2;
  const Dataset b = make_synthetic(options);
  std::set<std::vector<std::uint8_t>> seen;
  for (const ImageSet* set : {&a.train, &a.test, &b.train}) {
    for (std::int64_t i = 0; i < set->size(); ++i) seen.emplace(set->planes(i), set->planes(i) + kImageBytes);
  }
  EXPECT_EQ(seen.size(), 600u);
}

TEST(Synthetic, EachHundredHoldsEachClassOnceAndLabelsAreValid) {
  const Dataset set = make_synthetic(sized(500, 100));
  check_records(set.train, "synthetic");
  for (std::int64_t block = 0; block < 5; ++block) {
    std::set<int> classes;
    for (std::int64_t i = block * 100; i < block * 100 + 100; ++i) {
      classes.insert(set.train.fine(i));
      EXPECT_EQ(set.train.coarse(i), set.train.fine(i) / 5);
    }
    EXPECT_EQ(classes.size(), 100u);
  }
  bool orders_differ = false;
  for (std::int64_t i = 0; i < 100; ++i) orders_differ |= set.train.fine(i) != set.train.fine(100 + i);
  EXPECT_TRUE(orders_differ);
  EXPECT_EQ(std::set(set.fine_names.begin(), set.fine_names.end()).size(), 100u);
  EXPECT_EQ(std::set(set.coarse_names.begin(), set.coarse_names.end()).size(), 20u);
}

TEST(Synthetic, PixelsUseTheRangeWithoutSticking) {
  const Dataset set = make_synthetic(sized(200, 100));
  double sum = 0, squares = 0;
  std::int64_t stuck = 0, n = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    for (int k = 0; k < kImageBytes; ++k, ++n) {
      const double v = set.train.planes(i)[k];
      sum += v;
      squares += v * v;
      stuck += v == 0 || v == 255;
    }
  }
  const double mean = sum / static_cast<double>(n);
  EXPECT_NEAR(mean, 127.5, 15);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(n) - mean * mean), 56, 15);
  EXPECT_LT(static_cast<double>(stuck) / static_cast<double>(n), 0.03);
}

/// Light of one image's middle or rim, as the energy of its differences along x and along y.
std::array<double, 2> gradient_energy(const std::uint8_t* planes, bool middle) {
  std::array<double, 2> energy{};
  for (int row = 1; row < 31; ++row) {
    for (int column = 1; column < 31; ++column) {
      const bool in_middle = row >= 12 && row < 20 && column >= 12 && column < 20;
      const bool in_rim = row < 3 || row > 28;
      if (middle ? !in_middle : !in_rim) continue;
      const std::uint8_t* p = planes + kImagePixels + row * kImageSide + column;
      const double dx = p[1] - p[-1], dy = p[kImageSide] - p[-kImageSide];
      energy[0] += dx * dx;
      energy[1] += dy * dy;
    }
  }
  return energy;
}

TEST(Synthetic, FigureAndGroundCarryTheirTextures) {
  SyntheticOptions options = sized(3000, 100);
  options.knobs.spots = 0;
  const Dataset set = make_synthetic(options);
  int right = 0, seen = 0;
  for (std::int64_t i = 0; i < set.train.size(); ++i) {
    const int figure = set.train.fine(i) / kTextures, ground = set.train.fine(i) % kTextures;
    if (figure < 2) {  // stripes: horizontal ones change along y
      const auto e = gradient_energy(set.train.planes(i), true);
      right += (e[1] > e[0]) == (figure == 0);
      ++seen;
    }
    if (ground < 2) {
      const auto e = gradient_energy(set.train.planes(i), false);
      right += (e[1] > e[0]) == (ground == 0);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 1200);
  EXPECT_GT(right, seen * 95 / 100);
}

TEST(Synthetic, HelpersApproximateWhatTheyName) {
  for (int i = -400; i <= 400; ++i) {
    const float t = static_cast<float>(i) * 0.013f;
    EXPECT_NEAR(internal::wave(t), std::cos(2.0 * M_PI * t), 0.03);
    const double angle = 2.0 * M_PI * t;
    const double found = internal::turns(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
    EXPECT_NEAR(std::remainder(found - t, 1.0), 0.0, 3e-3);
  }
}

TEST(Synthetic, RefusesSizesOutOfRange) {
  expect_error(ErrorKind::user, {"1000000", "got 0"}, [] { make_synthetic(sized(0, 1)); });
  expect_error(ErrorKind::user, {"got -3"}, [] { make_synthetic(sized(1, -3)); });
  expect_error(ErrorKind::user, {"got 1000001"}, [] { make_synthetic(sized(1'000'001, 1)); });
}

}  // namespace
}  // namespace reprise
