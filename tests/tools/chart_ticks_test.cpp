// Round numbers along an axis: nice, within the ends, told apart by their text, also where the values are odd.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <set>

#include "tools/chart/ticks.h"

namespace reprise::chart {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinite = std::numeric_limits<double>::infinity();
constexpr double kMiB = 1024.0 * 1024, kGiB = 1024 * kMiB;

bool is_nice(double step) {
  double mantissa = step / std::pow(10.0, std::floor(std::log10(step) + 1e-9));
  return std::fabs(mantissa - 1) < 1e-6 || std::fabs(mantissa - 2) < 1e-6 || std::fabs(mantissa - 5) < 1e-6;
}

TEST(ChartTicks, AreNiceCoverTheRangeAndReadDifferently) {
  EXPECT_TRUE(rc::check("random ranges", [] {
    double middle = *rc::gen::inRange(-1000000, 1000000) * std::pow(10.0, *rc::gen::inRange(-9, 6));
    double range = *rc::gen::inRange(1, 1000) * std::pow(10.0, *rc::gen::inRange(-3, 6)) *
                   std::max(1e-6 * std::fabs(middle), 1e-9);
    int most = *rc::gen::inRange(3, 12);
    bool covering = *rc::gen::arbitrary<bool>();
    double low = middle - range / 2, high = middle + range / 2;
    Ticks ticks = make_ticks(low, high, Unit::number, ScaleKind::linear, most, covering);
    RC_ASSERT(ticks.at.size() == ticks.text.size());
    RC_ASSERT(ticks.at.size() <= static_cast<std::size_t>(most) && ticks.at.size() >= (covering ? 2U : 1U));
    RC_ASSERT(ticks.low <= low && ticks.high >= high);
    RC_ASSERT(std::set<std::string>(ticks.text.begin(), ticks.text.end()).size() == ticks.text.size());
    for (std::size_t i = 1; i < ticks.at.size(); ++i) {
      double step = ticks.at[i] - ticks.at[i - 1];
      RC_ASSERT(step > 0);
      if (std::fabs(middle) < 1e6 * range) RC_ASSERT(is_nice(step) || std::fabs(middle) > 1e5 * step);
    }
    if (covering) {
      RC_ASSERT(ticks.low == std::min(low, ticks.at.front()) && ticks.high == std::max(high, ticks.at.back()));
      RC_ASSERT(low - ticks.at.front() > -1e-6 * range && ticks.at.back() - high > -1e-6 * range);
    }
  }));
}

TEST(ChartTicks, BytesAreBinaryAndTimesHaveTheirUnit) {
  auto texts = [](double low, double high, Unit unit) {
    return make_ticks(low, high, unit, ScaleKind::linear, 6, true).text;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(0, 1.5 * kGiB, Unit::bytes), (Texts{"0", "0.5 GiB", "1.0 GiB", "1.5 GiB"}));
  EXPECT_EQ(texts(1.0 * kGiB, 1.0 * kGiB + 256 * kMiB, Unit::bytes),
            (Texts{"1,024 MiB", "1,088 MiB", "1,152 MiB", "1,216 MiB", "1,280 MiB"}));
  EXPECT_EQ(texts(0, 0.08, Unit::seconds), (Texts{"0", "20 ms", "40 ms", "60 ms", "80 ms"}));
  EXPECT_EQ(texts(0, 4e-5, Unit::seconds), (Texts{"0", "10 µs", "20 µs", "30 µs", "40 µs"}));
  EXPECT_EQ(texts(0, 100, Unit::percent), (Texts{"0", "20 %", "40 %", "60 %", "80 %", "100 %"}));
  EXPECT_EQ(texts(-3, 3, Unit::number), (Texts{"−4", "−2", "0", "2", "4"}));
  EXPECT_EQ(texts(0, 40000, Unit::count), (Texts{"0", "10,000", "20,000", "30,000", "40,000"}));
}

TEST(ChartTicks, CountsHaveNoFractions) {
  for (double high : {1.0, 2.0, 3.0, 7.0, 100.0}) {
    for (double at : make_ticks(0, high, Unit::count, ScaleKind::linear, 9, true).at) EXPECT_EQ(at, std::round(at));
  }
}

TEST(ChartTicks, LogarithmicOnesAreRoundToo) {
  Ticks decades = make_ticks(1e-5, 1e3, Unit::number, ScaleKind::log, 9, true);
  EXPECT_EQ(decades.at.size(), 9U);
  EXPECT_EQ(decades.text.front(), "1e-5");
  EXPECT_EQ(decades.text.back(), "1,000");
  Ticks fine = make_ticks(1, 100, Unit::number, ScaleKind::log, 8, true);
  EXPECT_EQ(fine.text, (std::vector<std::string>{"1", "2", "5", "10", "20", "50", "100"}));
  Ticks bytes = make_ticks(1024, kGiB, Unit::bytes, ScaleKind::log, 6, true);
  for (double at : bytes.at) EXPECT_EQ(std::log2(at), std::round(std::log2(at)));
  Ticks narrow = make_ticks(3.1, 3.9, Unit::number, ScaleKind::log, 6, false);
  EXPECT_GE(narrow.at.size(), 2U);
}

TEST(ChartTicks, OddRangesAreMended) {
  for (ScaleKind scale : {ScaleKind::linear, ScaleKind::log}) {
    for (Unit unit : {Unit::number, Unit::count, Unit::bytes, Unit::seconds, Unit::percent}) {
      for (double low : {0.0, -1.0, 5.0, kNan, kInfinite, -kInfinite, 1e-310, 1e299, 1e16}) {
        for (double high : {0.0, 5.0, 5.0000000000001, kNan, -kInfinite, kInfinite, 1e-310, 1e299, 1e16}) {
          Ticks ticks = make_ticks(low, high, unit, scale, 5, true);
          EXPECT_TRUE(std::isfinite(ticks.low) && std::isfinite(ticks.high) && ticks.low < ticks.high)
              << low << " to " << high;
          EXPECT_LE(ticks.at.size(), 5U);
        }
      }
    }
  }
}

TEST(ChartTicks, OneValueReadsInThreeDigits) {
  EXPECT_EQ(value_text(1.53 * kGiB, Unit::bytes), "1.53 GiB");
  EXPECT_EQ(value_text(512, Unit::bytes), "512 B");
  EXPECT_EQ(value_text(0.01234, Unit::seconds), "12.3 ms");
  EXPECT_EQ(value_text(45.23, Unit::percent), "45.2 %");
  EXPECT_EQ(value_text(-0.12345, Unit::number), "−0.123");
  EXPECT_EQ(value_text(3.2e-7, Unit::number), "3.2e-7");
  EXPECT_EQ(value_text(0, Unit::bytes), "0 B");
  EXPECT_EQ(value_text(kNan, Unit::number), "none");
}

}  // namespace
}  // namespace reprise::chart
