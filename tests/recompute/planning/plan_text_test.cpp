// What is said of a plan in a few lines.
#include "recompute/planning/plan_text.h"

#include <gtest/gtest.h>

#include "tests/support/text.h"

namespace reprise {
namespace {

using testing::contains;

TEST(PlanText, OneIsNotSeveral) {
  Plan plan;
  plan.method = "joint";
  plan.segments.push_back({.id = "S", .option = "replay, 1 kept", .replay = true, .kept = {{3, 0}}});
  plan.classes.push_back({.storage = "queue", .state = StateOption::whole, .bytes = 64, .readers = {"S"}});
  EXPECT_PRED2(contains, plan_summary(plan),
               "plan joint: 0 of 1 segment retained, 1 replayed with 1 result kept; 1 state preserved whole, 0 by "
               "region, 64 B\n");
  plan.segments.push_back({.id = "T", .option = "retain"});
  plan.classes.front().state = StateOption::region;
  plan.segments.front().kept.clear();
  EXPECT_PRED2(contains, plan_summary(plan),
               "plan joint: 1 of 2 segments retained, 1 replayed with 0 results kept; 0 states preserved whole, 1 by "
               "region, 64 B\n");
}

}  // namespace
}  // namespace reprise
