// The solver against every plan of small instances, and its promises on larger ones.
#include "recompute/solver/solve.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>

#include "core/error.h"
#include "recompute/solver/domain.h"
#include "recompute/solver/synthetic.h"
#include "tests/recompute/solver/brute_force.h"
#include "tests/recompute/solver/random_small.h"

namespace reprise::solver {
namespace {

Allowed method(int bits) { return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}; }

constexpr Allowed kRetain{true, false, false};

int instance_count() {
  if (std::getenv("REPRISE_SOAK")) return 100000;
  if (std::getenv("REPRISE_FULL")) return 5000;
  const char* scale = std::getenv("REPRISE_RANDOM_SCALE");
  return std::max(20, static_cast<int>(200 * (scale ? std::atof(scale) : 1.0)));
}

/// Budgets from just below what any plan needs to just above what the fastest needs.
std::vector<std::int64_t> budgets_of(const BruteForce& free) {
  std::vector<std::int64_t> budgets;
  std::int64_t low = free.smallest_peak, high = free.peak;
  for (std::int64_t b : {low - 1, low, low + (high - low) / 4, low + (high - low) / 2, high - 1, high})
    budgets.push_back(b);
  return budgets;
}

bool replays_for_nothing(const Instance& instance, const Allowed& allowed, const Solution& solution) {
  Domain domain = domain_of(instance, allowed);
  for (std::size_t i = 0; i < instance.segments.size(); ++i) {
    const auto& options = instance.segments[i].options;
    if (options[solution.choice.options[i]].retain) continue;
    for (std::size_t o = 0; o < options.size(); ++o) {
      if (!options[o].retain || ((domain.options[i] >> o) & 1U) == 0) continue;
      Choice other = solution.choice;
      other.options[i] = static_cast<std::uint8_t>(o);
      Evaluation evaluation = evaluate(instance, other);
      if (evaluation.peak <= solution.peak && evaluation.time_ns <= solution.time_ns) return true;
    }
  }
  return false;
}

TEST(Solve, AgreesWithEveryPlanTriedOneByOne) {
  int count = instance_count(), feasible = 0, planned = 0;
  for (int seed = 1; seed <= count; ++seed) {
    Instance instance = random_small(static_cast<std::uint64_t>(seed));
    Allowed allowed = method(1 + seed % 7);
    BruteForce free = brute_force(instance, INT64_MAX, allowed);
    SmallestBudget smallest = smallest_budget(instance, allowed);
    ASSERT_TRUE(smallest.proven) << instance.name;
    ASSERT_EQ(smallest.bytes, free.smallest_peak) << instance.name;
    ASSERT_EQ(evaluate_naive(instance, smallest.choice).peak, smallest.bytes) << instance.name;
    for (std::int64_t budget : budgets_of(free)) {
      BruteForce best = brute_force(instance, budget, allowed);
      Solution solution = solve(instance, budget, allowed);
      ASSERT_EQ(solution.feasible, best.feasible) << instance.name << ", budget " << budget;
      ASSERT_TRUE(solution.proven) << instance.name << ", budget " << budget;
      if (!best.feasible) continue;
      ++feasible;
      planned += solution.time_ns > free.time_ns ? 1 : 0;
      ASSERT_EQ(solution.time_ns, best.time_ns) << instance.name << ", budget " << budget;
      ASSERT_EQ(solution.peak, best.peak) << instance.name << ": the tie goes to less memory";
      ASSERT_TRUE(contains(domain_of(instance, allowed), solution.choice)) << instance.name;
      ASSERT_EQ(evaluate_naive(instance, solution.choice).time_ns, solution.time_ns) << instance.name;
      ASSERT_FALSE(replays_for_nothing(instance, allowed, solution)) << instance.name << ", budget " << budget;
    }
  }
  EXPECT_GT(feasible, count);
  EXPECT_GT(planned, count / 2) << "the budgets hardly bind: the test is blind";
}

TEST(Solve, ShortcutsSayOnlyWhatTheWholeSearchSays) {
  int ruled_out = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Instance instance = random_small(seed);
    Allowed allowed = method(1 + static_cast<int>(seed % 7));
    SmallestBudget least = smallest_budget(instance, allowed);
    for (std::int64_t below : {least.bytes - 1, least.bytes, least.bytes + 1, 2 * least.bytes}) {
      SmallestBudget found = smallest_budget(instance, allowed, {}, below);
      ASSERT_LE(found.lower_bound, least.bytes) << instance.name;
      if (least.bytes < below)
        ASSERT_EQ(found.choice, least.choice) << instance.name << ", below " << below;
      else
        ASSERT_GE(found.bytes, below) << instance.name;
    }
    for (std::int64_t budget : {least.bytes - 1, least.bytes, least.bytes + least.bytes / 4}) {
      Solution solution = solve(instance, budget, allowed);
      Solution bound = solve(instance, budget, allowed, {.explain = false, .polish = false});
      ASSERT_EQ(bound.feasible, solution.feasible) << instance.name << ", budget " << budget;
      ASSERT_EQ(bound.lower_bound_ns, solution.lower_bound_ns) << instance.name << ", budget " << budget;
      for (std::int64_t time : {solution.time_ns, solution.time_ns + 1, 2 * solution.time_ns, INT64_MAX}) {
        if (!nothing_faster(instance, budget, allowed, time)) continue;
        ++ruled_out;
        ASSERT_TRUE(!solution.feasible || solution.time_ns >= time) << instance.name << ", budget " << budget;
      }
    }
  }
  EXPECT_GT(ruled_out, 0) << "it is of no use";
}

/// Segments that are all alike: each holds `bytes` from its forward to its backward if it is retained.
Instance alike(int segments, std::int64_t bytes) {
  Instance instance;
  instance.base.assign(static_cast<std::size_t>(2 * segments), 0);
  for (int i = 0; i < segments; ++i) {
    Option retain{"retain", true, 0, {}}, replay{"replay", false, 10, {}};
    instance.segments.push_back({"part" + std::to_string(i), {retain, replay}});
    instance.objects.push_back({"values", bytes, 0, 0, {{i, 1, 2 * segments - 1, -1, StateChoice::whole}}});
  }
  return instance;
}

TEST(Solve, OfEqualPlansTheOneThatRetainsEarlierSegmentsIsChosen) {
  for (int kept = 0; kept <= 6; ++kept) {
    Solution solution = solve(alike(6, 100), 100 * kept, {true, true, false});
    ASSERT_TRUE(solution.feasible);
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(solution.choice.options[static_cast<std::size_t>(i)], i < kept ? 0 : 1) << i << " of " << kept;
  }
}

RC_GTEST_PROP(Solve, JointIsNeverWorseAndMoreBudgetNeverHurts, ()) {
  auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000000);
  SyntheticOptions options;
  options.segments = *rc::gen::inRange(2, 14);
  options.sharing = *rc::gen::element(Sharing::none, Sharing::local, Sharing::scattered);
  options.finer_options = *rc::gen::inRange(0, 3);
  options.classes = 0.3;
  options.seed = seed;
  Instance instance = synthetic_step(options);
  std::int64_t low = smallest_budget(instance, {}).bytes, high = solve(instance, INT64_MAX / 4, kRetain).peak;
  std::int64_t step = std::max<std::int64_t>(1, (high - low) / 4);
  for (int bits = 1; bits <= 7; ++bits) {
    bool was_feasible = false;
    std::int64_t was_time = INT64_MAX;
    for (std::int64_t budget = low - step; budget <= high; budget += step) {
      Solution narrow = solve(instance, budget, method(bits)), joint = solve(instance, budget, {});
      RC_ASSERT(narrow.proven && joint.proven);
      RC_ASSERT(!was_feasible || narrow.feasible);
      RC_ASSERT(!narrow.feasible || joint.feasible);
      if (!narrow.feasible) continue;
      RC_ASSERT(joint.time_ns <= narrow.time_ns);
      RC_ASSERT(narrow.time_ns <= was_time);
      RC_ASSERT(narrow.peak <= budget);
      was_feasible = true;
      was_time = narrow.time_ns;
    }
  }
}

TEST(Solve, SameArgumentsGiveTheSamePlanEvenWhenWorkRunsOut) {
  Instance instance = synthetic_step({.segments = 120, .sharing = Sharing::scattered, .finer_options = 1, .seed = 5});
  std::int64_t low = smallest_budget(instance, {}).bytes;
  for (std::int64_t work : {20000, 400000, 3000000}) {
    Limits limits{.work = work};
    Solution first = solve(instance, low + low / 3, {}, limits), second = solve(instance, low + low / 3, {}, limits);
    EXPECT_EQ(first.choice, second.choice);
    EXPECT_EQ(first.work, second.work);
    EXPECT_EQ(first.lower_bound_ns, second.lower_bound_ns);
    EXPECT_LE(first.lower_bound_ns, first.time_ns);
  }
}

TEST(Solve, ChainOfPrivateSegmentsIsProvenOptimal) {
  Instance instance = synthetic_step({.segments = 300, .sharing = Sharing::none, .classes = 0, .seed = 2});
  std::int64_t low = smallest_budget(instance, {}).bytes, high = solve(instance, INT64_MAX / 4, kRetain).peak;
  Solution solution = solve(instance, low + (high - low) / 3, {});
  EXPECT_TRUE(solution.proven);
  EXPECT_EQ(solution.gap, 0);
  EXPECT_GT(solution.time_ns, instance.base_time_ns);
}

TEST(Solve, WorkThatRunsOutLeavesAPlanAndAnHonestBound) {
  Instance instance = synthetic_step({.segments = 60, .sharing = Sharing::scattered, .finer_options = 2, .seed = 9});
  std::int64_t low = smallest_budget(instance, {}).bytes, high = solve(instance, INT64_MAX / 4, kRetain).peak;
  std::int64_t budget = low + (high - low) / 4;
  Solution best = solve(instance, budget, {true, false, true});
  ASSERT_TRUE(best.proven);
  Solution hasty = solve(instance, budget, {true, false, true}, {.work = 30000});
  ASSERT_TRUE(hasty.feasible);
  EXPECT_GE(hasty.time_ns, best.time_ns);
  EXPECT_LE(hasty.lower_bound_ns, best.time_ns);
  EXPECT_FALSE(hasty.proven && hasty.time_ns != best.time_ns);
}

TEST(Solve, EmergencyStopMarksThePlan) {
  Instance instance = synthetic_step({.segments = 2000, .sharing = Sharing::scattered, .seed = 3});
  Solution solution = solve(instance, INT64_MAX / 4, {}, {.wall_seconds = 1e-9});
  EXPECT_TRUE(solution.stopped_by_clock);
  EXPECT_TRUE(solution.feasible);
}

/// Three equal segments; the values of each, kept, are 100 bytes, and replaying needs 60 at once.
Instance three_segments() {
  Instance instance;
  instance.base.assign(6, 50);
  instance.row_names = {"forward a", "forward b", "forward c", "backward c", "backward b", "backward a"};
  for (int i = 0; i < 3; ++i) {
    std::int32_t backward = 5 - i;
    std::string name(1, static_cast<char>('a' + i));
    instance.segments.push_back({name, {{"retain", true, 0, {}}, {"replay", false, 1000, {{backward, 60}}}}});
    instance.objects.push_back({"values of " + name, 100, 0, i, {{i, 1, backward, -1, {}}}});
  }
  instance.classes = {{"queue"}};
  instance.objects.push_back({"snapshot of queue", 400, 20, 2, {{1, 2, 4, 0, StateChoice::whole}}});
  instance.objects.push_back({"record of queue", 10, 30, 2, {{1, 2, 4, 0, StateChoice::region}}});
  return instance;
}

TEST(Solve, BudgetThatIsTooSmallIsAnswered) {
  Instance instance = three_segments();
  Solution solution = solve(instance, 150, {true, true, false});
  EXPECT_FALSE(solution.feasible);
  EXPECT_TRUE(solution.proven);
  // a and c replayed, b retained: its 100 and the replay of c.
  EXPECT_EQ(solution.smallest.bytes, 210);
  std::string text = infeasible_message(instance, 150, solution);
  for (const char* part :
       {"smallest feasible budget is 210 bytes", "backward c", "values of b (100 bytes)", "region", "from 120 bytes"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in: " << text;
  }
  EXPECT_TRUE(solve(instance, 210, {true, true, false}).feasible);
  EXPECT_TRUE(solve(instance, 120, {}).feasible);
  EXPECT_NE(infeasible_message(instance, 100, solve(instance, 100, {})).find("No further option"), std::string::npos);
}

TEST(Solve, MethodsPermitWhatTheirNamesSay) {
  Instance instance = three_segments();
  auto options = [&](const Allowed& allowed) { return solve(instance, 100000, allowed).choice.options; };
  EXPECT_EQ(options(kRetain), (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_EQ(options({false, true, false}), (std::vector<std::uint8_t>{1, 1, 1}));
  EXPECT_EQ(options({false, false, true}), (std::vector<std::uint8_t>{1, 1, 1}));
  EXPECT_EQ(options({}), (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_EQ(solve(instance, 100000, {false, true, true}).choice.states[0], StateChoice::whole) << "it takes less time";
  EXPECT_EQ(solve(instance, 300, {false, true, true}).choice.states[0], StateChoice::region) << "it takes less memory";
  EXPECT_THROW(solve(instance, 1, {false, false, false}), Error);
}

TEST(Solve, SegmentsWithNothingButRetainKeepItUnderEveryMethod) {
  Instance instance = three_segments();
  instance.segments[2].options.pop_back();
  for (int bits = 1; bits <= 7; ++bits) {
    Solution solution = solve(instance, 100000, method(bits));
    ASSERT_TRUE(solution.feasible);
    EXPECT_EQ(solution.choice.options[2], 0);
  }
}

}  // namespace
}  // namespace reprise::solver
