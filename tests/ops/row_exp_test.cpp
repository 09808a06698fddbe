#include "ops/row_exp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/implementation.h"
#include "tests/ops/network_check.h"

namespace reprise {
namespace {

std::vector<float> row(std::int64_t n) {
  std::vector<float> values;
  for (double value : testing::numbers(n, 7)) values.push_back(static_cast<float>(20 * value));
  return values;
}

TEST(RowExp, TheBuildForNewerProcessorsGivesTheBitsOfThePortableOne) {
  auto run = [](std::int64_t n) {
    std::vector<float> x = row(n), in_place = x, scaled(x.size()), added(x.size(), 2.0f);
    std::vector<float> sums{exp_sum(x.data(), n, 3.5f), exp_sum_in_place(in_place.data(), n, 3.5f)};
    exp_scaled(x.data(), n, 3.5f, 0.3f, scaled.data(), false);
    exp_scaled(x.data(), n, 3.5f, 0.3f, added.data(), true);
    for (const auto& part : {in_place, scaled, added}) sums.insert(sums.end(), part.begin(), part.end());
    return sums;
  };
  for (std::int64_t n : {1, 31, 32, 1000, 4099}) {
    std::vector<float> best = run(n);
    PortableOnly portable;
    EXPECT_EQ(best, run(n)) << n;
  }
}

TEST(RowExp, SumsAgreeWithTheStandardLibrary) {
  std::vector<float> x = row(5000);
  double expected = 0;
  for (float value : x) expected += std::exp(static_cast<double>(value));
  EXPECT_NEAR(exp_sum(x.data(), 5000, 0.0f) / expected, 1.0, 1e-6);
  std::vector<double> y(x.begin(), x.end());
  EXPECT_NEAR(exp_sum(y.data(), 5000, 0.0) / expected, 1.0, 1e-14);
}

TEST(RowExp, AddsWhereAsked) {
  std::vector<float> x = row(100), to(100, 2.0f);
  exp_scaled(x.data(), 100, 0.0f, 0.5f, to.data(), true);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(to[i], 2 + 0.5 * std::exp(static_cast<double>(x[i])), 1e-6 * to[i]);
}

}  // namespace
}  // namespace reprise
