#include "ops/elementwise_functors.h"

#include <gtest/gtest.h>

#include <limits>

namespace reprise {
namespace {

namespace fn = functors;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// How many floats lie between a result and the true value.
double ulps(float got, double want) {
  if (got == static_cast<float>(want)) return 0;
  double spacing = std::nextafter(std::fabs(static_cast<float>(want)), kInfinity) - std::fabs(static_cast<float>(want));
  return std::fabs(got - want) / spacing;
}

TEST(VectorMath, ExpIsWithinTwoUlpsOverItsWholeRange) {
  double worst = 0;
  for (float x = -103.5f; x < 88.7f; x += 0.00371f) worst = std::max(worst, ulps(math::exp(x), std::exp(double{x})));
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(math::exp(0.0f), 1.0f);
}

TEST(VectorMath, ExpAtItsEnds) {
  EXPECT_EQ(math::exp(89.0f), kInfinity);
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_EQ(math::exp(-kInfinity), 0.0f);
  EXPECT_EQ(math::exp(-200.0f), 0.0f);
  EXPECT_TRUE(std::isnan(math::exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(VectorMath, TanhAndSigmoidAreWithinThreeUlps) {
  double worst = 0;
  for (float x = -12.0f; x < 12.0f; x += 0.000917f) {
    worst = std::max(worst, ulps(math::tanh(x), std::tanh(double{x})));
    worst = std::max(worst, ulps(math::sigmoid(x), 1.0 / (1.0 + std::exp(-double{x}))));
  }
  EXPECT_LT(worst, 3.0);
  EXPECT_EQ(math::tanh(kInfinity), 1.0f);
  EXPECT_EQ(math::tanh(-kInfinity), -1.0f);
  EXPECT_EQ(math::sigmoid(-kInfinity), 0.0f);
  EXPECT_EQ(math::tanh(1e-20f), 1e-20f);
}

TEST(Mod, HasTheSignOfTheDivisor) {
  EXPECT_EQ(fn::Mod{}(std::int64_t{-7}, std::int64_t{3}), 2);
  EXPECT_EQ(fn::Mod{}(std::int64_t{7}, std::int64_t{-3}), -2);
  EXPECT_EQ(fn::Mod{}(std::int64_t{-6}, std::int64_t{3}), 0);
  EXPECT_EQ(fn::Mod{}(std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}), 0);
  EXPECT_EQ(fn::Mod{}(std::int64_t{5}, std::int64_t{0}), 0);
  EXPECT_EQ(fn::Mod{}(-7.5, 2.0), 0.5);
  EXPECT_EQ(fn::Mod{}(7.5f, -2.0f), -0.5f);
}

TEST(Integers, WrapAroundInsteadOfOverflowing) {
  std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(fn::Wrapping<fn::Add>{}(largest, 1), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(fn::Wrapping<fn::Mul>{}(largest, 2), -2);
}

TEST(RoundBf16, RoundsToTheNearestWithTiesToEven) {
  EXPECT_EQ(fn::RoundBf16{}(1.00390625f), 1.0f);       // halfway between 1 and 1 + 2^-7
  EXPECT_EQ(fn::RoundBf16{}(1.01171875f), 1.015625f);  // halfway, the upper one is even
  EXPECT_EQ(fn::RoundBf16{}(-3.14159274f), -3.140625f);
  EXPECT_EQ(fn::RoundBf16{}(kInfinity), kInfinity);
}

TEST(RoundBf16, RoundsADoubleOnce) {
  // A hair above the halfway point: f32 would round it down to the tie, and the tie to even.
  double above = 1.00390625 + 1e-12;
  EXPECT_EQ(fn::RoundBf16{}(above), 1.0078125);
  EXPECT_EQ(fn::RoundBf16{}(-above), -1.0078125);
  EXPECT_EQ(fn::RoundBf16{}(1.01171875 - 1e-12), 1.0078125);
  EXPECT_EQ(fn::RoundBf16{}(1.00390625), 1.0);
  EXPECT_EQ(fn::RoundBf16{}(0.0), 0.0);
  EXPECT_EQ(fn::RoundBf16{}(1e-300), 0.0);
  EXPECT_EQ(fn::RoundBf16{}(1e300), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(fn::RoundBf16{}(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Relu, KeepsNaN) { EXPECT_TRUE(std::isnan(fn::Relu{}(std::numeric_limits<double>::quiet_NaN()))); }

TEST(Round, TiesGoToEven) {
  EXPECT_EQ(fn::Round{}(0.5), 0.0);
  EXPECT_EQ(fn::Round{}(1.5), 2.0);
  EXPECT_EQ(fn::Round{}(-2.5f), -2.0f);
}

}  // namespace
}  // namespace reprise
