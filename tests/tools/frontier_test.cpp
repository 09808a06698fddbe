// What `reprise plan --frontier --measure` says of the order of the methods.
#include "tools/frontier/frontier.h"

#include <gtest/gtest.h>

#include "tools/frontier/measured_order.h"

namespace reprise {
namespace {

/// A point whose plan is predicted to take `predicted` ms; `measured` 0: it was not run.
FrontierPoint frontier_point(const std::string& method, std::int64_t budget, double predicted, double measured) {
  FrontierPoint point{method, budget, {}, static_cast<std::int64_t>(measured * 1e6), 0, 0, 0};
  point.plan.predicted_ns = static_cast<std::int64_t>(predicted * 1e6);
  point.plan.predicted_peak = static_cast<std::int64_t>(predicted * 64);
  return point;
}

Frontier frontier_of(std::vector<FrontierPoint> points) {
  Frontier frontier;
  for (const FrontierPoint& point : points) {
    bool known = !frontier.smallest.empty() && frontier.smallest.back().first == point.method;
    if (!known) frontier.smallest.emplace_back(point.method, point.budget);
  }
  frontier.points = std::move(points);
  return frontier;
}

// A machine that has become 10 % slower since the profile: of both plans alike.
TEST(Frontier, TheMachinesDriftFallsOutBesideTheReference) {
  Frontier frontier = frontier_of({frontier_point("joint", 100, 200, 231)});
  frontier.reference.predicted_ns = 300'000'000;
  frontier.points[0].reference_ns = 330'000'000;
  EXPECT_NEAR(off_by(frontier.points[0]), 0.155, 1e-9);
  EXPECT_NEAR(off_beside_reference(frontier, frontier.points[0]), 0.05, 1e-9);
}

TEST(Frontier, MethodsInThePredictedOrderAreCounted) {
  MeasuredOrder order =
      measured_order(frontier_of({frontier_point("retain", 4096, 10, 11), frontier_point("whole", 1024, 20, 19),
                                  frontier_point("joint", 1024, 15, 16), frontier_point("joint", 4096, 10, 10)}));
  // At 1024 joint before whole; at 4096 retain and joint before whole, and they are no pair: as fast as each other.
  EXPECT_EQ(order.pairs, 3);
  EXPECT_EQ(order.kept, 3);
  EXPECT_TRUE(order.violations.empty());
}

TEST(Frontier, AMethodThatCameOutBeforeAFasterOneIsNamedWithBudgetAndTimes) {
  MeasuredOrder order =
      measured_order(frontier_of({frontier_point("whole", 2048, 20, 12.5), frontier_point("joint", 1024, 15, 17.25)}));
  EXPECT_EQ(order.pairs, 1);
  EXPECT_EQ(order.kept, 0);
  EXPECT_EQ(order.violations, std::vector<std::string>{
                                  "at 2.0 KiB: joint before whole was predicted (15.00 and 20.00 ms), measured 17.25 "
                                  "and 12.50 ms"});
}

TEST(Frontier, TimesWithinThreePercentMayComeOutEitherWay) {
  auto pairs = [](double slower) {
    return measured_order(frontier_of({frontier_point("whole", 64, slower, 9), frontier_point("joint", 64, 100, 10)}))
        .pairs;
  };
  EXPECT_EQ(pairs(100), 0);
  EXPECT_EQ(pairs(102.9), 0);
  EXPECT_EQ(pairs(103.1), 1);
  EXPECT_EQ(pairs(96), 1);
}

TEST(Frontier, OnlyPlansThatMeetAtABudgetAndWereMeasuredArePairs) {
  // whole does not fit joint's small budget, region was not run, and what joint does at 4096 was not measured either.
  MeasuredOrder order =
      measured_order(frontier_of({frontier_point("whole", 4096, 20, 12), frontier_point("region", 1024, 30, 0),
                                  frontier_point("joint", 1024, 25, 26), frontier_point("joint", 4096, 10, 0)}));
  EXPECT_EQ(order.pairs, 0);
  // A plan that stays the same at a larger budget is run once, and meets others there: once, however many budgets.
  Frontier same = frontier_of({frontier_point("whole", 1024, 20, 12), frontier_point("whole", 2048, 20, 0),
                               frontier_point("whole", 4096, 20, 0), frontier_point("joint", 2048, 10, 11),
                               frontier_point("joint", 4096, 10, 0)});
  EXPECT_EQ(measured_like(same, same.points[2]), &same.points[0]);
  order = measured_order(same);
  EXPECT_EQ(order.pairs, 1);
  EXPECT_EQ(order.kept, 1);
}

}  // namespace
}  // namespace reprise
