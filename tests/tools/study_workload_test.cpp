// Overrides of a workload stand in one line of the study file and are cut where a shell would cut them.
#include <gtest/gtest.h>

#include "tools/study/workload.h"

namespace reprise::study {
namespace {

TEST(SplitOverrides, CutsAtBlanksOutsideQuotesListsAndMaps) {
  EXPECT_EQ(split_overrides("a=1 b=[2, 3]"), (Words{"a=1", "b=[2, 3]"}));
  EXPECT_EQ(split_overrides("a={x: 1, y: [2, {z: 3}]} ~b"), (Words{"a={x: 1, y: [2, {z: 3}]}", "~b"}));
  EXPECT_EQ(split_overrides("a='one [ two' b=\"it's } here\" +c=3"),
            (Words{"a='one [ two'", "b=\"it's } here\"", "+c=3"}));
}

TEST(SplitOverrides, BlanksAloneAreNoOverride) {
  EXPECT_TRUE(split_overrides("").empty());
  EXPECT_TRUE(split_overrides("   ").empty());
  EXPECT_EQ(split_overrides("  a=1   b=2 "), (Words{"a=1", "b=2"}));
}

}  // namespace
}  // namespace reprise::study
