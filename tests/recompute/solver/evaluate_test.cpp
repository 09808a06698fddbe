// Two evaluators agree, and instances that make no sense are refused by name.
#include "recompute/solver/evaluate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/error.h"
#include "recompute/solver/domain.h"
#include "tests/recompute/solver/random_small.h"

namespace reprise::solver {
namespace {

/// Any choice of an instance, from a stream of numbers.
Choice some_choice(const Instance& instance, const std::vector<int>& numbers) {
  Choice choice;
  std::size_t at = 0;
  auto next = [&] { return numbers.empty() ? 0 : numbers[at++ % numbers.size()]; };
  for (const Segment& segment : instance.segments) {
    choice.options.push_back(static_cast<std::uint8_t>(next() % static_cast<int>(segment.options.size())));
  }
  for (std::size_t c = 0; c < instance.classes.size(); ++c) {
    choice.states.push_back(next() % 2 == 0 ? StateChoice::whole : StateChoice::region);
  }
  return choice;
}

RC_GTEST_PROP(Evaluate, WalkingTheRowsGivesTheSameNumbers, ()) {
  auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000000);
  auto numbers = *rc::gen::container<std::vector<int>>(13, rc::gen::inRange(0, 64));
  Instance instance = random_small(seed);
  validate(instance);
  Choice choice = some_choice(instance, numbers);
  RC_ASSERT(evaluate(instance, choice) == evaluate_naive(instance, choice));
}

RC_GTEST_PROP(Evaluate, WhatIsAliveInARowAddsUpToItsBytes, ()) {
  auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000000);
  Instance instance = random_small(seed);
  Choice choice = some_choice(instance, {1, 0, 3, 2});
  Evaluation evaluation = evaluate(instance, choice);
  for (std::size_t t = 0; t < instance.base.size(); ++t) {
    std::int64_t sum = 0;
    for (const Alive& alive : alive_in_row(instance, choice, static_cast<std::int32_t>(t))) sum += alive.bytes;
    RC_ASSERT(sum == evaluation.row_bytes[t]);
  }
}

TEST(Evaluate, SharedObjectLivesUntilItsLastSelectedUseAndCostsItsTimeOnce) {
  Instance instance;
  instance.base = {10, 10, 10, 10};
  instance.segments = {{"a", {{"retain", true, 0, {}}, {"replay", false, 5, {{3, 7}}}}},
                       {"b", {{"retain", true, 0, {}}, {"replay", false, 6, {}}}}};
  instance.objects = {{"boundary", 100, 3, 1, {{0, 2, 3, -1, {}}, {1, 2, 2, -1, {}}}}};
  Evaluation none = evaluate(instance, {{0, 0}, {}});
  EXPECT_EQ(none.row_bytes, (std::vector<std::int64_t>{10, 10, 10, 10}));
  Evaluation second = evaluate(instance, {{0, 1}, {}});
  EXPECT_EQ(second.row_bytes, (std::vector<std::int64_t>{10, 110, 110, 10}));
  EXPECT_EQ(second.time_ns, 9);
  Evaluation both = evaluate(instance, {{1, 1}, {}});
  EXPECT_EQ(both.row_bytes, (std::vector<std::int64_t>{10, 110, 110, 117}));
  EXPECT_EQ(both.time_ns, 14);
  EXPECT_EQ(both.peak, 117);
  EXPECT_EQ(both.binding_row, 3);
}

TEST(Evaluate, WhatMakesNoSenseIsNamed) {
  auto refused = [](auto spoil, const std::string& word) {
    Instance instance;
    instance.base = {1, 1};
    instance.segments = {{"stem", {{"retain", true, 0, {}}}}};
    instance.objects = {{"queue", 1, 0, 0, {{0, 1, 1, -1, {}}}}};
    validate(instance);
    spoil(instance);
    try {
      validate(instance);
      ADD_FAILURE() << "not refused: " << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::user);
      EXPECT_NE(error.message().find(word), std::string::npos) << error.message();
    }
  };
  refused([](Instance& i) { i.objects[0].uses[0].row = 2; }, "queue");
  refused([](Instance& i) { i.objects[0].uses[0].segment = 1; }, "queue");
  refused([](Instance& i) { i.objects[0].uses[0].options = 2; }, "stem");
  refused([](Instance& i) { i.objects[0].uses[0].read_class = 0; }, "class of reads");
  refused([](Instance& i) { i.objects[0].birth = -1; }, "birth");
  refused([](Instance& i) { i.objects[0].bytes = -1; }, "bytes");
  refused([](Instance& i) { i.segments[0].options.clear(); }, "stem");
  refused([](Instance& i) { i.segments[0].options[0].own = {{5, 1}}; }, "stem");
  refused([](Instance& i) { i.base.clear(); }, "row");
  refused([](Instance& i) { i.row_names = {"one"}; }, "row names");
}

}  // namespace
}  // namespace reprise::solver
