// Two-level runs: less held between forward and backward, and the same bytes.
#include "recompute/planning/runs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "recompute/planning/planner.h"
#include "tests/recompute/planning/memory_mlp.h"
#include "tests/support/planned_tape.h"

namespace reprise {
namespace {

/// A chain of segments whose inner values are so many times what passes between them; eight times, where nothing else
/// is said. `tape` last: it dies first.
class Chain {
 public:
  Chain(bool dry, int segments) : Chain(dry, std::vector<int>(static_cast<std::size_t>(segments), 8)) {}
  Chain(bool dry, std::vector<int> inner) : memory({.dry = dry}), inner_(std::move(inner)) {
    register_builtin_ops();
    weight = Leaf::create(
        "w", make_tensor(memory.allocator(), memory.observer(), DType::f32, {kWidth}, Category::parameters, true),
        make_tensor(memory.allocator(), memory.observer(), DType::f32, {kWidth}, Category::gradients, true));
    if (!dry) weight->data.assign_doubles(std::vector<double>(kWidth, 0.9));
    tape.emplace(memory);
    tape->set_replayer(&replayer);
  }
  Value forward() {
    Tape& t = *tape;
    Value h = sin(t, mul(t, weight, 1.0));
    for (std::size_t s = 0; s < inner_.size(); ++s) {
      h = segment(t, "link" + std::to_string(s), [&] {
        Value x = h;
        h = {};
        for (int i = 0; i < inner_[s]; ++i) x = sin(t, x);
        return x;
      });
    }
    return mean(t, h);
  }

  static constexpr std::int64_t kWidth = 1024;
  Memory memory;
  LeafRef weight;
  TraceReplayer replayer;
  std::optional<Tape> tape;

 private:
  std::vector<int> inner_;
};

std::vector<double> gradient(const Assignment& assignment, std::int64_t* peak, int segments) {
  Chain dry(true, segments), real(false, segments);
  Walker walker(*dry.tape, [&] { return dry.forward(); });
  Schedule schedule = walker.schedule(assignment);
  testing::PlannedTape planned(*real.tape, assignment, schedule);
  {
    Value root = real.forward();
    real.tape->backward(root);
  }
  EXPECT_EQ(real.memory.meter().peak(), schedule.peak.total_peak);
  if (peak) *peak = schedule.peak.total_peak;
  return real.weight->grad.to_doubles();
}

/// A dry chain, and a profile in which each node takes as long as any other.
struct PricedChain {
  explicit PricedChain(int segments) : chain(true, segments), walker(*chain.tape, [this] { return chain.forward(); }) {
    walker.look({}, [this](Tape& tape) { profile.forward_ns.assign(tape.data().nodes.size(), 1000); });
    profile.step_ns = 1000000;
  }
  Chain chain;
  Walker walker;
  Profile profile;
};

TEST(Runs, AChainOf64SegmentsNeedsLessThanHalfOfItsOneLevelFloor) {
  Chain dry(true, 64);
  Walker walker(*dry.tape, [&] { return dry.forward(); });
  Planner one(walker, Profile{}, {.keep_values = false, .longest_run = 1, .made_for = {}});
  Planner two(walker, Profile{}, {.keep_values = false, .made_for = {}});
  std::int64_t held = walker.base();
  Plan plan = two.least("joint");
  std::int64_t floor = one.least("joint").predicted_peak - held, lower = plan.predicted_peak - held;
  EXPECT_LE(static_cast<double>(lower), 0.45 * static_cast<double>(floor)) << lower << " of " << floor;
  std::int64_t peak = 0;
  EXPECT_EQ(gradient(plan.assignment(), &peak, 64), gradient({}, nullptr, 64));
  EXPECT_EQ(peak, plan.predicted_peak);
}

TEST(Runs, ABudgetBetweenTheFloorsIsMetByRunsAndOnlyWhereNeeded) {
  PricedChain dry(16);
  Planner one(dry.walker, dry.profile, {.keep_values = false, .longest_run = 1, .made_for = {}});
  Planner two(dry.walker, dry.profile, {.keep_values = false, .made_for = {}});
  std::int64_t budget = (one.least("joint").predicted_peak + two.least("joint").predicted_peak) / 2;
  EXPECT_FALSE(one.plan("joint", budget).plan);
  Planner::Answer answer = two.plan("joint", budget);
  ASSERT_TRUE(answer.plan) << answer.none.message;
  EXPECT_LE(answer.plan->predicted_peak, budget);
  EXPECT_LE(answer.plan->lower_bound_ns, answer.plan->predicted_ns);
  EXPECT_EQ(gradient(answer.plan->assignment(), nullptr, 16), gradient({}, nullptr, 16));
}

TEST(Runs, PlanningNearTheFloorWalksFewSteps) {
  PricedChain dry(16);
  Planner planner(dry.walker, dry.profile, {.made_for = {}});
  std::int64_t floor = planner.least("joint").predicted_peak;
  ASSERT_TRUE(planner.plan("joint", floor).plan);
  ASSERT_FALSE(planner.plan("joint", floor - 1).plan);
  // Some 35 sets of runs are tried for each of four methods; walks for every one of them would take seconds.
  EXPECT_LE(dry.walker.walked(), 120u);  // 61 when written
}

TEST(Runs, APlanDoesNotDependOnWhatWasAskedBefore) {
  Chain chain(true, {3, 8, 3, 1, 2, 9, 6, 1, 9});  // cuts into threes and into sixes share their last run
  Walker walker(*chain.tape, [&] { return chain.forward(); });
  Profile profile;
  walker.look({}, [&](Tape& tape) {
    for (std::size_t n = 0; n < tape.data().nodes.size(); ++n)
      profile.forward_ns.push_back(1000 + static_cast<std::int64_t>(n) % 7 * 100);
  });
  profile.step_ns = 100000;
  const PlannerOptions options{.keep_values = false, .made_for = {}};
  Planner forward(walker, profile, options), reverse(walker, profile, options);
  std::int64_t low = forward.least("joint").predicted_peak, high = forward.plan("joint", 0).plan->predicted_peak;
  std::vector<std::pair<std::string, std::int64_t>> asked;
  for (const std::string method : {"retain+region", "whole+region", "joint", "retain+whole"}) {
    for (int i = 0; i <= 24; ++i) asked.emplace_back(method, low + (high - low) * i / 24);
  }
  for (const auto& [method, budget] : asked) forward.plan(method, budget);
  for (std::size_t i = asked.size(); i-- > 0;) {
    const auto& [method, budget] = asked[i];
    Planner::Answer first = forward.plan(method, budget), second = reverse.plan(method, budget);
    ASSERT_EQ(first.plan.has_value(), second.plan.has_value()) << method << " at " << budget;
    EXPECT_TRUE(first.plan == second.plan) << method << " at " << budget;
  }
}

TEST(Runs, CutsFollowNeighboursOnly) {
  testing::MemoryMlp step(true, {.segments = 3});  // its table is written between segments
  Walker walker(*step.tape, [&] { return step.forward(); });
  StepRows rows = walker.walk({}).rows;
  walker.look({}, [&](Tape& tape) { EXPECT_TRUE(cut_into_runs(Units(tape.data()), rows, 8).empty()); });
  Chain chain(true, 5);
  Walker other(*chain.tape, [&] { return chain.forward(); });
  rows = other.walk({}).rows;
  other.look({}, [&](Tape& tape) {
    std::vector<RunOfSegments> runs = cut_into_runs(Units(tape.data()), rows, 2);
    ASSERT_EQ(runs.size(), 2u);  // the fifth stands alone
    EXPECT_EQ(runs[1].first, 2u);
    EXPECT_EQ(runs[1].last, 3u);
  });
}

TEST(Runs, NoneGoesOnBehindABackward) {
  Chain chain(true, 0);
  Tape& t = *chain.tape;
  Walker walker = Walker::of_step(t, [&] {
    Value a = segment(t, "a", [&] { return sin(t, mul(t, chain.weight, 1.0)); });
    t.backward(a, true);
    Value b = segment(t, "b", [&] { return sin(t, a); });
    Value c = segment(t, "c", [&] { return sin(t, b); });
    t.backward(c);
  });
  StepRows rows = walker.walk({}).rows;
  walker.look({}, [&](Tape& tape) {
    std::vector<RunOfSegments> runs = cut_into_runs(Units(tape.data()), rows, 8);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(runs[0].first, 1u);
    EXPECT_EQ(runs[0].last, 2u);
  });
}

TEST(Runs, AreRestoredOnceForTwoBackwards) {
  auto step = [](Chain& chain) {
    Value root = chain.forward();
    chain.tape->backward(root, true);
    chain.tape->backward(root);
  };
  Chain dry(true, 16), plain(false, 16), real(false, 16);
  Walker walker = Walker::of_step(*dry.tape, [&] { step(dry); });
  Assignment assignment;
  for (std::uint32_t s = 0; s < 16; ++s)
    assignment.segments.push_back({ValueOption::replay, StateOption::region, s / 4 + 1, s % 4 == 3});
  const Walk& walk = walker.walk(assignment);
  Schedule schedule = walker.schedule(assignment);
  testing::PlannedTape planned(*real.tape, assignment, schedule);
  step(real);
  EXPECT_EQ(real.memory.meter().peak(), walk.peak);
  EXPECT_EQ(real.tape->next_backward(), nullptr);
  for (std::size_t n = 0; n < walk.replays.size(); ++n)
    EXPECT_EQ(real.tape->data().nodes[n].runs, walk.replays[n] + 1) << "node " << n;
  EXPECT_EQ(*std::max_element(walk.replays.begin(), walk.replays.end()), 3u) << "restored once, replayed twice";
  step(plain);
  EXPECT_EQ(real.weight->grad.to_doubles(), plain.weight->grad.to_doubles());
}

}  // namespace
}  // namespace reprise
