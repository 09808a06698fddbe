// What moving bytes costs: counted as the planner counts it, told apart from the nodes it interrupts, and held against
// what real steps took.
#include "recompute/planning/move_costs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/row_state.h"
#include "recompute/planning/runs.h"
#include "recompute/solver/evaluate.h"
#include "tests/recompute/planning/memory_mlp.h"
#include "tests/support/lab.h"
#include "tests/support/planned_tape.h"

namespace reprise {
namespace {

using testing::Lab;
using testing::MemoryMlp;

struct Counter final : PreserveListener {
  void begins(What what, const Storage&) noexcept override { what_ = what; }
  void ends(const MovedBytes& moved) noexcept override {
    copies += moved.copied > 0;
    (what_ == What::preserve ? preserved : exchanged) += moved;
  }
  What what_ = What::preserve;
  std::int64_t copies = 0;
  MovedBytes preserved, exchanged;
};

/// What a real step under `assignment` moves.
Counter moved_by(const Assignment& assignment, const Schedule& schedule) {
  MemoryMlp real(false, {});
  testing::PlannedTape planned(*real.tape, assignment, schedule);
  Counter counter;
  preserve_listener() = &counter;
  {
    Value root = real.forward();
    real.tape->backward(root);
  }
  preserve_listener() = nullptr;
  return counter;
}

// With prices that count: 1 for a copy, 1000 for a record, a million for an exchange. A record stands for bytes that
// the same reads could owe; where some of these do not, two of them may be one, of which the model says that it may be
// two.
TEST(MoveCosts, ThePlannerChargesWhatARealStepMoves) {
  MemoryMlp dry(true, {});
  Walker walker(*dry.tape, [&] { return dry.forward(); });
  Profile profile;
  walker.look({}, [&](Tape& tape) { profile.forward_ns.assign(tape.data().nodes.size(), 0); });
  profile.copy = {1, 0, 0};
  profile.gather = {1000, 0, 0};
  profile.exchange = {1000000, 0, 0};
  Problem problem(walker, simple_space(walker), profile);
  const solver::Instance& instance = problem.instance();
  std::uint64_t bits = 99;
  auto draw = [&](std::size_t n) {
    return static_cast<std::size_t>((bits = bits * 6364136223846793005u + 1442695040888963407u) >> 33) % n;
  };
  std::int64_t exchanges = 0;
  for (int round = 0; round < 40; ++round) {
    bool mixed = round >= 4;
    solver::Choice choice;
    for (const solver::Segment& segment : instance.segments) {
      std::size_t option = mixed ? draw(segment.options.size()) : round % 2 * (segment.options.size() - 1);
      choice.options.push_back(static_cast<std::uint8_t>(option));
    }
    for (std::size_t c = 0; c < instance.classes.size(); ++c)
      choice.states.push_back((mixed ? draw(2) : round / 2) ? solver::StateChoice::whole : solver::StateChoice::region);
    Assignment assignment = problem.assignment(choice, StateOption::region);
    Counter counter = moved_by(assignment, walker.schedule(assignment));
    std::int64_t time = solver::evaluate(instance, choice).time_ns;
    EXPECT_EQ(time % 1000, counter.copies) << round;
    EXPECT_GE(time / 1000 % 1000, counter.preserved.blocks) << round;
    EXPECT_GE(time / 1000000, counter.exchanged.blocks) << round;
    if (mixed) continue;
    EXPECT_EQ(time / 1000 % 1000, counter.preserved.blocks) << round;
    EXPECT_EQ(time / 1000000, counter.exchanged.blocks) << round;
    exchanges += counter.exchanged.blocks;
  }
  EXPECT_GT(exchanges, 0);
}

TEST(MoveCosts, ASegmentOfARunOpensItsRecordsTwice) {
  MemoryMlp dry(true, {});
  Walker walker(*dry.tape, [&] { return dry.forward(); });
  Profile profile;
  walker.look({}, [&](Tape& tape) { profile.forward_ns.assign(tape.data().nodes.size(), 0); });
  profile.exchange = {1, 0, 0};
  PlanSpace space = with_runs(simple_space(walker), {{0, 3}});
  for (auto& options : space) options.erase(options.begin(), options.end() - 1);
  Problem problem(walker, std::move(space), profile);
  solver::Choice choice;
  choice.options.assign(problem.instance().segments.size(), 0);
  choice.states.assign(problem.instance().classes.size(), solver::StateChoice::region);
  Assignment assignment = problem.assignment(choice, StateOption::region);
  ASSERT_EQ(assignment.segments.front().run, 1u);
  Counter counter = moved_by(assignment, walker.schedule(assignment));
  EXPECT_EQ(solver::evaluate(problem.instance(), choice).time_ns, counter.exchanged.blocks);
}

TEST(MoveCosts, AStepsTimeIsThatOfItsNodesAndOfWhatItMoves) {
  Lab lab(Method::region);
  Tape& t = *lab.tape;
  Tensor table = lab.state({64, 8}, std::vector<double>(512, 0.5));
  LeafRef x = lab.leaf({2, 8}, std::vector<double>(16, 0.3));
  StepTimer timer;
  timer.attach(t);
  timer.begin();
  {
    Value y = segment(t, "S", [&] { return sin(t, mul(t, x, gather_rows(t, table, lab.indices({3, 9})))); });
    assign_rows(t, table, lab.indices({9, 10}), 5.0);
    t.backward(mean(t, y));
  }
  timer.end();
  timer.detach();
  StepTimer::Moves moves = timer.moves();
  EXPECT_EQ(moves.steps, 1);
  EXPECT_EQ(moves.preserved.blocks, 1);
  EXPECT_EQ(moves.preserved.bytes, 64) << "row 9";
  EXPECT_EQ(moves.exchanged.blocks, 2) << "opened and closed";
  EXPECT_EQ(moves.exchanged.bytes, 128);
  EXPECT_GT(moves.preserve_ns, 0);
  EXPECT_GT(moves.exchange_ns, 0);
  Profile profile;
  timer.read(profile);
  EXPECT_EQ(profile.moved_ns, moves.preserve_ns + moves.exchange_ns);
  std::int64_t nodes = 0;
  for (const auto* times : {&profile.forward_ns, &profile.replay_ns, &profile.backward_ns}) {
    for (std::int64_t ns : *times) nodes += std::max<std::int64_t>(0, ns);
  }
  EXPECT_EQ(profile.step_ns, nodes + profile.rest_ns + profile.moved_ns);
}

StepTimer::Moves moves_of(std::int64_t preserve_ns, std::int64_t exchange_ns, MovedBytes preserved,
                          MovedBytes exchanged) {
  return {preserve_ns, exchange_ns, 1, preserved, exchanged};
}

TEST(MoveCosts, AreHeldAgainstWhatStepsTook) {
  const MoveCosts costs{{0, 0.1, 0}, {100, 0.1, 1}, {50, 0.2, 2}};
  const MovedBytes records{0, 100, 1000000, 1000}, exchanges{0, 200, 2000000, 2000}, copies{1000000, 0, 0, 0};
  // By the costs: records 10,000 + 100,000 + 1,000 ns; exchanges 10,000 + 400,000 + 4,000.
  MoveCosts held = held_against(costs, moves_of(222000, 828000, records, exchanges));
  EXPECT_EQ(held.copy, costs.copy) << "none was made";
  EXPECT_EQ(held.gather, (MoveCost{200, 0.2, 2}));
  EXPECT_EQ(held.exchange, (MoveCost{100, 0.4, 4}));

  held = held_against(costs, moves_of(50000, 0, copies, {}));
  EXPECT_EQ(held.copy, (MoveCost{0, 0.05, 0}));
  EXPECT_EQ(held.gather, costs.gather);
  EXPECT_EQ(held.exchange, costs.exchange);

  EXPECT_EQ(held_against(costs, moves_of(1000, 1000, records, exchanges)).gather, costs.gather) << "too short to tell";
  EXPECT_EQ(held_against(costs, moves_of(1000000000, 0, records, {})).gather, (MoveCost{800, 0.8, 8})) << "at most 8";
}

TEST(MoveCosts, AreThoseOfThisMachine) {
  MoveCosts costs = measure_move_costs(4 << 20);
  for (const MoveCost& cost : {costs.copy, costs.gather, costs.exchange}) {
    EXPECT_GT(cost.of(1 << 20, 1), 1000) << "no memory is that fast";
    EXPECT_LT(cost.of(1 << 20, 1), 100000000);
  }
  EXPECT_GT(costs.gather.of(512, 1), 0);
}

}  // namespace
}  // namespace reprise
