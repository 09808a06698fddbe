#include "recompute/plan_step.h"

#include <gtest/gtest.h>

#include "autograd/segment.h"
#include "ops/arithmetic.h"
#include "ops/queue.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "recompute/methods.h"
#include "recompute/replay.h"

namespace reprise {
namespace {

/// A step that can be recorded dry and for real: two segments read a queue that is written after each.
class Step {
 public:
  Step(bool dry, Method method) : memory({.dry = dry}), policy_(make_policy(method)) {
    register_builtin_ops();
    auto make = [&](Category category, const Shape& shape) {
      return make_tensor(memory.allocator(), memory.observer(), DType::f32, shape, category, true);
    };
    w = Leaf::create("w", make(Category::parameters, {4, 8}), make(Category::gradients, {4, 8}));
    queue = make(Category::state, {64, 8});
    rows = make_tensor(memory.allocator(), memory.observer(), DType::i64, {4}, Category::data, true);
    tape.emplace(memory);
    tape->set_policy(policy_.get());
    tape->set_replayer(&replayer_);
  }

  Value forward() {
    Tape& t = *tape;
    Value h = mul(t, w, 1.0);
    for (int i = 0; i < 2; ++i) {
      h = segment(t, i ? "second" : "first", [&] {
        // The last product is needed by no backward of the first segment's own replay beyond its operands.
        Value m = mean_axis(t, queue, 0);
        return sin(t, mul(t, sin(t, mul(t, h, m)), extra_op && i ? 2.0 : 1.0));
      });
      if (extra_op && i) h = tanh(t, h);
      if (hold && i == 0) held = h;
      enqueue_ring(t, queue, h, position);
      position = (position + 4) % 64;
      if (by_rows) assign_rows(t, queue, rows, h);
    }
    return mean(t, h);
  }

  Memory memory;
  LeafRef w;
  Tensor queue, rows;
  std::int64_t position = 0;
  bool extra_op = false, by_rows = false, hold = false;
  std::optional<Tape> tape;
  Value held;

 private:
  std::unique_ptr<SegmentPolicy> policy_;
  TraceReplayer replayer_;
};

Schedule plan(Method method, std::int64_t position = 0, bool by_rows = false) {
  Step dry(true, method);
  dry.by_rows = by_rows;
  return make_schedule(*dry.tape, [&] {
    dry.position = position;
    return dry.forward();
  });
}

class PlannedStep : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, PlannedStep, ::testing::Values(Method::retain, Method::whole, Method::region),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(PlannedStep, PeakIsTheMeasuredOneToTheByte) {
  Schedule schedule = plan(GetParam());
  Step real(false, GetParam());
  real.memory.meter().reset_peak();
  real.tape->follow(&schedule);
  {
    Value root = real.forward();
    real.tape->backward(root);
  }
  EXPECT_EQ(real.memory.meter().peak(), schedule.peak.total_peak);
  for (int c = 0; c < kCategoryCount; ++c) EXPECT_EQ(real.memory.meter().snapshot().peak[c], schedule.peak.peak[c]);
}

TEST_P(PlannedStep, AnotherOpIsRefusedBeforeAnythingMoves) {
  Schedule schedule = plan(GetParam());
  Step real(false, GetParam());
  real.extra_op = true;
  real.tape->follow(&schedule);
  try {
    real.forward();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::replay);
    EXPECT_NE(std::string(error.what()).find("tanh"), std::string::npos) << error.what();
  }
}

TEST_P(PlannedStep, ARingThatStandsElsewhereNeedsAnotherSchedule) {
  Schedule schedule = plan(GetParam());
  Step real(false, GetParam());
  real.position = 8;
  real.tape->follow(&schedule);
  EXPECT_THROW(real.forward(), Error);
  Step again(false, GetParam());
  again.position = 8;
  Schedule other = plan(GetParam(), 8);
  again.tape->follow(&other);
  Value root = again.forward();
  EXPECT_NO_THROW(again.tape->backward(root));
}

TEST_P(PlannedStep, AHandleThatLivesLongerIsFoundBeforeTheBackward) {
  Schedule schedule = plan(GetParam());
  Step real(false, GetParam());
  real.hold = true;
  real.tape->follow(&schedule);
  Value root = real.forward();
  EXPECT_THROW(real.tape->backward(root), Error);
  real.held.reset();
}

TEST_P(PlannedStep, ABackwardThatTakesOtherMemoryIsRefusedWhereNoHookRan) {
  for (bool hooked : {false, true}) {
    Schedule schedule = plan(GetParam());
    schedule.backwards.back().end.hash ^= 1;
    Step real(false, GetParam());
    int ran = 0;
    if (hooked) real.w->hooks.push_back([&](Leaf&) { ++ran; });
    real.tape->follow(&schedule);
    Value root = real.forward();
    if (hooked) {
      real.tape->backward(root);
      EXPECT_EQ(ran, 1);
      continue;
    }
    EXPECT_THROW(real.tape->backward(root), Error);
    EXPECT_THROW(real.tape->backward(root), Error);
  }
}

TEST_P(PlannedStep, RowsThatDependOnDataGiveAnUpperBound) {
  Schedule schedule = plan(GetParam(), 0, true);
  EXPECT_FALSE(schedule.exact);
  Step real(false, GetParam());
  real.by_rows = true;
  real.rows.assign_doubles(std::vector<double>{3, 9, 11, 40});
  real.memory.meter().reset_peak();
  real.tape->follow(&schedule);
  Value root = real.forward();
  real.tape->backward(root);
  EXPECT_LE(real.memory.meter().peak(), schedule.peak.total_peak);
}

TEST(PlannedObligations, NothingIsPreservedThatNoBackwardNeeds) {
  // The segment's read of the queue falls away in its replay: only its product with a constant is differentiated.
  auto preserved = [](bool planned) {
    register_builtin_ops();
    auto run = [](bool dry, const Schedule* schedule, Schedule* made) {
      Memory memory({.dry = dry});
      auto policy = make_policy(Method::whole);
      TraceReplayer replayer;
      Tensor queue = make_tensor(memory.allocator(), memory.observer(), DType::f32, {64, 8}, Category::state, true);
      LeafRef w = Leaf::create(
          "w", make_tensor(memory.allocator(), memory.observer(), DType::f32, {64, 8}, Category::parameters, true));
      Tape t(memory);
      t.set_policy(policy.get());
      t.set_replayer(&replayer);
      auto forward = [&] {
        return segment(t, "S", [&] {
          Value y = add(t, sin(t, w), queue);
          assign(t, queue, 1.0);
          return y;
        });
      };
      if (made) {
        *made = make_schedule(t, forward);
        return std::int64_t{0};
      }
      t.follow(schedule);
      Value y = forward();
      std::int64_t peak = memory.meter().peak(Category::preserved);
      t.backward(y);
      return peak;
    };
    Schedule schedule;
    if (planned) run(true, nullptr, &schedule);
    return run(false, planned ? &schedule : nullptr, nullptr);
  };
  EXPECT_EQ(preserved(false), 64 * 8 * 4);  // online: owed until the segment closes
  EXPECT_EQ(preserved(true), 0);
}

}  // namespace
}  // namespace reprise
