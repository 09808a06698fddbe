// Medians of what a profile measures.
#include "recompute/planning/median.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace reprise {
namespace {

TEST(MedianTime, IsTheMiddleOneThatWasMeasured) {
  EXPECT_EQ(median_time(std::vector<std::int64_t>{7}), 7);
  EXPECT_EQ(median_time(std::vector<std::int64_t>{9, 1, 4}), 4);
  EXPECT_EQ(median_time(std::vector<double>{8, 0.5, 2, 4}), 4) << "the upper one of two";
}

}  // namespace
}  // namespace reprise
