// Statistics of a study against values computed by hand and tables, and the coverage of its intervals by simulation.
#include <gtest/gtest.h>

#include <cmath>

#include "core/stream.h"
#include "tools/study/statistics.h"

namespace reprise::study {
namespace {

TEST(StudyStatistics, MediansMeansAndRangesByHand) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(geometric_mean({0.5, 2, 8}), 2);
  EXPECT_DOUBLE_EQ(geometric_mean({0.8}), 0.8);
  Interval all = range({0.9, 0.7, 1.2});
  EXPECT_DOUBLE_EQ(all.low, 0.7);
  EXPECT_DOUBLE_EQ(all.high, 1.2);
  EXPECT_FALSE(range({}).defined());
}

TEST(StudyStatistics, RatiosArePairedWithinBlocksAlone) {
  std::vector<double> ratios = paired_ratios({{0, 2.0}, {1, 3.0}, {3, 8.0}}, {{0, 4.0}, {2, 1.0}, {3, 2.0}});
  ASSERT_EQ(ratios.size(), 2u);
  EXPECT_DOUBLE_EQ(ratios[0], 0.5);
  EXPECT_DOUBLE_EQ(ratios[1], 4.0);
  EXPECT_EQ(unpaired_blocks({{0, 2.0}, {1, 3.0}, {3, 8.0}}, {{0, 4.0}, {2, 1.0}, {3, 2.0}}), 2) << "blocks 1 and 2";
}

TEST(StudyStatistics, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.9875), 2.241402727604947, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0.0, 1e-12);
  EXPECT_NEAR(normal_quantile(1e-6), -4.753424308822899, 1e-9);
  // Two-sided 95 % points of the usual table, and 1 degree in closed form: tan(pi (p - 1/2)).
  EXPECT_NEAR(student_t_quantile(0.975, 1), std::tan(M_PI * 0.475), 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 2), 4.302652729696142, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 10), 2.228138851964939, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 30), 2.042272456301238, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.995, 5), 4.032142983557536, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.025, 10), -2.228138851964939, 1e-9);
  EXPECT_NEAR(student_t_quantile(0.975, 1e7), normal_quantile(0.975), 1e-6);
  EXPECT_NEAR(incomplete_beta(2, 3, 0.4), 0.5248, 1e-12);  // 1 - sum of two binomial terms
  EXPECT_NEAR(incomplete_beta(1, 1, 0.3), 0.3, 1e-12);
}

TEST(StudyStatistics, StudentsQuantilesHoldAtTheDegreesOfTheStudies) {
  // 6 seeds, 15 and 50 processes: published tables, to the digits that they print.
  EXPECT_NEAR(student_t_quantile(0.975, 5), 2.570582, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 14), 2.144787, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.995, 14), 2.976843, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 49), 2.009575, 1e-6);
  // 1, 2 and 4 degrees have closed forms, so every level can be held against them, that of the studies too.
  for (double p : {0.6, 0.9, 0.975, 0.9875, 0.999}) {
    double a = 4 * p * (1 - p), q = std::cos(std::acos(std::sqrt(a)) / 3) / std::sqrt(a);
    EXPECT_NEAR(student_t_quantile(p, 1) / std::tan(M_PI * (p - 0.5)), 1, 1e-10) << p;
    EXPECT_NEAR(student_t_quantile(p, 2) / ((2 * p - 1) * std::sqrt(2 / a)), 1, 1e-10) << p;
    EXPECT_NEAR(student_t_quantile(p, 4) / (2 * std::sqrt(q - 1)), 1, 1e-10) << p;
  }
  double before = 1e9;  // falls with the degrees, to the normal distribution's
  for (double degrees : {1, 2, 5, 14, 49, 1000}) {
    double t = student_t_quantile(0.9875, degrees);
    EXPECT_LT(t, before) << degrees;
    EXPECT_GT(t, normal_quantile(0.9875)) << degrees;
    before = t;
  }
}

TEST(StudyStatistics, TheLogTIntervalByHand) {
  // Logs are -1, 0, 1 times log 2: mean 0, standard error log 2 / sqrt(3); t at 97.5 % two-sided with 2 degrees.
  double reach = 6.205346816570704 * std::log(2.0) / std::sqrt(3.0);
  Interval interval = log_t_interval({0.5, 1, 2});
  EXPECT_NEAR(std::log(interval.low), -reach, 1e-9);
  EXPECT_NEAR(std::log(interval.high), reach, 1e-9);
  EXPECT_FALSE(log_t_interval({0.8}).defined());
}

TEST(StudyStatistics, TheBootstrapIsSeededAndEqualRatiosGiveAPoint) {
  std::vector<double> ratios = {0.81, 0.79, 0.84, 0.80, 0.77, 0.83, 0.80, 0.90};
  Interval first = bootstrap_interval(ratios, 7), again = bootstrap_interval(ratios, 7),
           other = bootstrap_interval(ratios, 8);
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.high, again.high);
  EXPECT_NE(first.low, other.low);
  EXPECT_NEAR(first.low, other.low, 0.005);
  EXPECT_LT(first.low, geometric_mean(ratios));
  EXPECT_GT(first.high, geometric_mean(ratios));
  Interval point = bootstrap_interval({0.8, 0.8, 0.8}, 7);
  EXPECT_DOUBLE_EQ(point.low, 0.8);
  EXPECT_DOUBLE_EQ(point.high, 0.8);
  EXPECT_FALSE(bootstrap_interval({0.8}, 7).defined());
}

TEST(StudyStatistics, TheBootstrapOfTwoRatiosByHand) {
  // Resamples of {1, 4} have means of logs 0, log 2, log 4 with chances 1/4, 1/2, 1/4: no bias, so both ends are hit.
  Interval interval = bootstrap_interval({1, 4}, 3);
  EXPECT_NEAR(interval.low, 1, 1e-12);
  EXPECT_NEAR(interval.high, 4, 1e-12);
  RatioSummary summary = summarise({1, 4}, 3);
  EXPECT_EQ(summary.n, 2);
  EXPECT_NEAR(summary.geometric_mean, 2, 1e-12);
  EXPECT_EQ(summarise({}, 3).n, 0);
}

TEST(StudyStatistics, TheBiasCorrectionMovesTheEndsAsByHand) {
  // Means of resamples of {1, 1, 8} are 1, 2, 4, 8 with chances 8, 12, 6, 1 of 27. Counting half of those that equal
  // the estimate, 2, a share of 14 / 27 is below it, so z0 = 0.0464, and at a level of 0.92 the upper end is at
  // Phi(2 z0 + 1.7507) = 0.9674: past 26 / 27 = 0.9630, so 8. Without correction it would be at 0.96, so 4.
  Interval up = bootstrap_interval({1, 1, 8}, 5, 0.92, 200000);
  EXPECT_NEAR(up.low, 1, 1e-9);
  EXPECT_NEAR(up.high, 8, 1e-9);
  // The mirror image: the lower end is at Phi(-2 z0 - 1.7507) = 0.0326, within the first 1 / 27, not at 0.04 past it.
  Interval down = bootstrap_interval({1, 8, 8}, 5, 0.92, 200000);
  EXPECT_NEAR(down.low, 1, 1e-9);
  EXPECT_NEAR(down.high, 8, 1e-9);
}

/// Lognormal ratios around `center`.
std::vector<double> sample(std::uint64_t seed, std::size_t n, double center, double spread) {
  std::vector<double> ratios;
  for (std::uint64_t i = 0; i < n; ++i) {
    auto [normal, unused] = normal_pair(philox_word(seed, 1, 2 * i), philox_word(seed, 1, 2 * i + 1));
    ratios.push_back(center * std::exp(spread * static_cast<double>(normal)));
  }
  return ratios;
}

TEST(StudyStatistics, IntervalsCoverTheTruthAboutAsOftenAsTheySay) {
  constexpr int kSamples = 400;
  struct Case {
    std::size_t n;     // pairs: of the ladder, seeds of the application, processes at the two budgets
    double bootstrap;  // how often that of the header holds the truth
  };
  for (const Case& each : {Case{5, 0.865}, {6, 0.90}, {15, 0.95}, {50, 0.965}}) {
    int bootstrap = 0, log_t = 0;
    for (int s = 0; s < kSamples; ++s) {
      auto seed = static_cast<std::uint64_t>(s);
      std::vector<double> ratios = sample(1000 + seed, each.n, 0.8, 0.05);
      Interval a = bootstrap_interval(ratios, seed, kLevel, 2000), b = log_t_interval(ratios);
      bootstrap += a.low <= 0.8 && 0.8 <= a.high;
      log_t += b.low <= 0.8 && 0.8 <= b.high;
    }
    // A percentile bootstrap is known to be short where numbers are few; the log-t interval is exact here. Three
    // standard errors of 400 samples.
    double allowed = 3 * std::sqrt(each.bootstrap * (1 - each.bootstrap) / kSamples);
    EXPECT_NEAR(bootstrap / double(kSamples), each.bootstrap, allowed) << each.n;
    EXPECT_GE(log_t, static_cast<int>(0.952 * kSamples)) << each.n;
    EXPECT_LE(log_t, static_cast<int>(0.998 * kSamples)) << each.n;
  }
}

}  // namespace
}  // namespace reprise::study
