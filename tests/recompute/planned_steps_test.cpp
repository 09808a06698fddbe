// Planned steps of several forwards and backwards, on one tape or on two of one memory, case by case: the bytes of the
// plain step, the predicted peak to the byte, and on the schedule to the end. What no trace knew of is honoured
// without.
#include <gtest/gtest.h>

#include "ops/arithmetic.h"
#include "ops/queue.h"
#include "ops/reduce.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "recompute/plan_step.h"
#include "tests/autograd/lying_ops.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::expect_error;
using testing::Lab;

/// Forwards of two parts, segments or not, that read and overwrite states; on either of two tapes of one memory.
class TwoTapes {
 public:
  TwoTapes(Method method, bool segments, bool dry = false)
      : lab(method, DType::f64, 1, dry),
        second(lab.memory, lab.tape->options()),
        x(lab.leaf({4}, {0.1, 0.2, 0.3, 0.4}, "x")),
        w(lab.leaf({4}, {1.1, 0.9, 0.8, 1.2}, "w")),
        b(lab.state({4}, {2, 3, 4, 5})),
        queue(lab.state({8, 4}, std::vector<double>(32, 0.5))),
        segments_(segments),
        policy_(make_policy(method)) {
    second.set_policy(policy_.get());
    second.set_replayer(&replayer_);
    for (const LeafRef& leaf : {x, w}) {
      leaf->grad = make_tensor(lab.memory.allocator(), lab.memory.observer(), DType::f64, {4}, Category::gradients);
    }
  }

  Tape& tape(int index) { return index ? second : *lab.tape; }
  bool is_dry() const { return lab.memory.is_dry(); }

  Value forward(int index = 0, double factor = 0.5) {
    Tape& t = tape(index);
    Value h = part(t, "first", [&] { return sin(t, mul(t, sin(t, mul(t, x, b)), w)); });
    mul_into(t, b, factor);
    Value y = part(t, "second", [&] {
      Value m = mean_axis(t, queue, 0);
      return mul(t, mul(t, sin(t, mul(t, h, w)), b), m);
    });
    enqueue_ring(t, queue, reshape(t, stop_gradient(t, h), {1, 4}), position);
    position = (position + 1) % 8;
    h.reset();
    return sum(t, y);
  }
  void backward(const std::vector<Value>& of, bool keep = false) {
    of.front().tape().backward(of, keep);
    peak = lab.memory.meter().peak();
  }
  /// Through the door, as a dry trace sees it too.
  void host_halves_b() {
    if (is_dry()) return b.storage().announce(b.region(), Writer{});
    std::vector<double> bytes = b.to_doubles();
    for (double& number : bytes) number /= 2;
    b.assign_doubles(bytes);
  }
  std::vector<double> bytes() const {
    std::vector<double> all = b.to_doubles();
    auto add = [&](const std::vector<double>& more) { all.insert(all.end(), more.begin(), more.end()); };
    add(queue.to_doubles());
    for (const LeafRef& leaf : {x, w}) add(leaf->data.to_doubles()), add(Lab::gradient(leaf));
    return all;
  }

  Lab lab;
  Tape second;
  LeafRef x, w;
  Tensor b, queue;
  std::int64_t position = 0;
  std::int64_t peak = 0;  // up to the end of the last backward

 private:
  template <class Body>
  Value part(Tape& t, const char* name, Body&& body) {
    return segments_ ? segment(t, name, body) : body();
  }

  bool segments_;
  std::unique_ptr<SegmentPolicy> policy_;
  TraceReplayer replayer_;
};

using StepScript = std::function<void(TwoTapes&)>;

class PlannedSteps : public ::testing::TestWithParam<Method> {
 protected:
  static std::vector<Schedule> schedules_of(const StepScript& step, std::int64_t position = 0) {
    TwoTapes dry(GetParam(), true, true);
    Tape* tapes[] = {&dry.tape(0), &dry.tape(1)};
    return make_schedules(tapes, [&] {
      dry.position = position;
      step(dry);
    });
  }

  /// `real` is what the step does when it runs, if that is not what was traced.
  static void expect_step(bool followed, const StepScript& traced, const StepScript& real = nullptr,
                          std::int64_t position = 0) {
    const StepScript& step = real ? real : traced;
    TwoTapes plain(Method::retain, false), planned(GetParam(), true);
    plain.position = planned.position = position;
    step(plain);
    std::vector<Schedule> schedules = schedules_of(traced, position);
    std::int64_t level = planned.lab.memory.meter().live(), predicted = 0;
    planned.lab.memory.meter().reset_peak();
    bool on_all = true;
    for (int t : {0, 1}) planned.tape(t).follow(&schedules[static_cast<std::size_t>(t)]);
    step(planned);
    for (int t : {0, 1}) {
      EXPECT_TRUE(schedules[static_cast<std::size_t>(t)].exact);
      predicted = std::max(predicted, schedules[static_cast<std::size_t>(t)].peak.total_peak);
      on_all &= planned.tape(t).next_backward() == nullptr;
      planned.tape(t).clear();
    }
    EXPECT_EQ(on_all, followed);
    EXPECT_EQ(planned.bytes(), plain.bytes());
    EXPECT_TRUE(!followed || planned.peak == predicted) << planned.peak << " bytes, predicted " << predicted;
    EXPECT_EQ(planned.lab.memory.meter().live(), level);
    EXPECT_EQ(planned.lab.memory.preserver().live().reads, 0);
  }
};
INSTANTIATE_TEST_SUITE_P(Methods, PlannedSteps,
                         ::testing::Values(Method::retain, Method::whole, Method::region, Method::mixed),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(PlannedSteps, SeveralForwardsBeforeTheirBackwardsInEitherOrder) {
  for (bool last_first : {true, false}) {
    expect_step(true, [=](TwoTapes& p) {
      Value one = p.forward(), two = p.forward(), three = p.forward();
      for (Value* each : last_first ? std::vector{&three, &two, &one} : std::vector{&one, &two, &three}) {
        p.backward({*each});
        each->reset();
      }
    });
  }
}

TEST_P(PlannedSteps, OneBackwardOfSeveralForwards) {
  expect_step(true, [](TwoTapes& p) {
    Value one = p.forward(), two = p.forward();
    p.backward({one, two});
  });
}

TEST_P(PlannedSteps, ABackwardBetweenForwards) {
  expect_step(true, [](TwoTapes& p) {
    for (int i = 0; i < 3; ++i) {
      Value root = p.forward();
      p.backward({root});
      mul_into(p.tape(0), p.w->data, 0.75);  // as an optimiser may
    }
  });
}

TEST_P(PlannedSteps, SeveralBackwardsOverOneGraph) {
  expect_step(true, [](TwoTapes& p) {
    Value one = p.forward();
    p.backward({one}, true);
    assign(p.tape(0), p.b, 3.0);
    Value two = p.forward();
    p.backward({two, one}, true);
    p.backward({one});
    p.backward({two});
  });
}

TEST_P(PlannedSteps, TwoTapesOfOneMemoryShareStates) {
  for (bool first : {true, false}) {
    expect_step(true, [=](TwoTapes& p) {
      Value one = p.forward(0), two = p.forward(1, 2.0), three = p.forward(0);
      p.backward({first ? one : two}, true);
      assign(p.tape(first), p.b, 3.0);
      p.backward({three});
      p.backward({first ? two : one});
      p.backward({first ? one : two});
    });
  }
}

TEST_P(PlannedSteps, ARingThatMovesInsideAStepAndOverItsEnd) {
  for (std::int64_t position = 0; position < 8; ++position) {
    expect_step(
        true,
        [](TwoTapes& p) {
          Value one = p.forward(), two = p.forward(1), three = p.forward();
          p.backward({two});
          p.backward({three, one});
        },
        nullptr, position);
  }
}

TEST_P(PlannedSteps, HostCodeMayWriteBetweenAsTraced) {
  expect_step(true, [](TwoTapes& p) {
    Value one = p.forward();
    p.host_halves_b();
    Value two = p.forward(1);
    p.host_halves_b();
    p.backward({one});
    p.host_halves_b();
    p.backward({two});
  });
}

TEST_P(PlannedSteps, HostCodeMayWriteWhatNoTraceKnewOf) {
  auto step = [](bool early) {
    return [=](TwoTapes& p) {
      Value one = p.forward(), two = p.forward(1);
      if (early) p.host_halves_b();  // as many writes as traced, of which the first finds what the second found
      p.backward({one});
      p.host_halves_b();
      p.backward({two});
    };
  };
  expect_step(false, step(false), step(true));
}

TEST_P(PlannedSteps, AnotherBackwardThanTheForeseenOneIsHonoured) {
  auto step = [](bool other, bool keep) {
    return [=](TwoTapes& p) {
      Value one = p.forward(), two = p.forward();
      p.backward({other ? one : two}, keep);
      if (keep) p.backward({other ? one : two});
      p.backward({other ? two : one});
    };
  };
  expect_step(false, step(false, false), step(true, false));
  expect_step(false, step(false, false), step(false, true));
  expect_step(false, step(false, true), step(false, false));
}

TEST_P(PlannedSteps, ATapeThatNoScheduleTellsOfMayWorkOnTheSameMemory) {
  auto step = [](bool other) {
    return [=](TwoTapes& p) {
      Value one = p.forward();
      if (other) {
        Value two = p.forward(1);
        p.backward({two});
      }
      p.backward({one});
    };
  };
  expect_step(false, step(false), step(true));
}

TEST_P(PlannedSteps, AHookMayUseAnotherTapeThatFollowsASchedule) {
  for (int way = 0; way < 3; ++way) {
    expect_step(false, [=](TwoTapes& p) {
      Value one = p.forward(), two = p.forward(1);
      p.w->hooks.assign(1, [&, way](Leaf&) {
        p.w->hooks.clear();
        if (way == 1) mul_into(p.tape(1), p.b, 4.0);
        if (way == 2) p.backward({two}, true);
      });
      p.backward({one});
      p.w->hooks.clear();
      Value three = p.forward(1);
      p.backward({two});
      p.backward({three});
    });
  }
}

TEST_P(PlannedSteps, AccumulatorsThatAStepMakesAreForeseen) {
  auto step = [](TwoTapes& p) {
    Value one = p.forward(), two = p.forward(1);
    p.backward({one});
    p.backward({two});
  };
  TwoTapes dry(GetParam(), true, true), real(GetParam(), true);
  for (TwoTapes* each : {&dry, &real}) each->x->grad = each->w->grad = Tensor();
  Tape* tapes[] = {&dry.tape(0), &dry.tape(1)};
  std::vector<Schedule> schedules = make_schedules(tapes, [&] {
    dry.position = 0;
    step(dry);
  });
  real.lab.memory.meter().reset_peak();
  for (int t : {0, 1}) real.tape(t).follow(&schedules[static_cast<std::size_t>(t)]);
  step(real);
  EXPECT_EQ(real.peak, std::max(schedules[0].peak.total_peak, schedules[1].peak.total_peak));
  for (int t : {0, 1}) EXPECT_EQ(real.tape(t).next_backward(), nullptr);
}

/// Adds to what it is given, but may fail half-way: so it is given nothing that holds something.
Op modest_op() {
  Op op = lying::op_named("modest");
  op.accumulates = true;
  op.backward = [](BackwardContext& c) {
    auto *from = c.grad_out(0).as<double>(), *to = c.grad(0).as<double>();
    for (std::int64_t i = 0; i < c.grad(0).size(); ++i) to[i] = (c.accumulates(0) ? to[i] : 0) + 2 * from[i];
  };
  return op;
}

TEST_P(PlannedSteps, OneScheduleServesTheFirstMicroBatchAndThoseThatAddToIt) {
  static const Op modest = modest_op();
  auto step = [](TwoTapes& p) {
    Tape& t = p.tape(0);
    Value y = segment(t, "S", [&] { return mul(t, t.apply_one(modest, {p.x}), p.w); });
    p.backward({y});
  };
  std::vector<Schedule> schedules = schedules_of(step);
  TwoTapes real(GetParam(), true);
  for (int i = 1; i <= 2; ++i) {
    real.lab.memory.meter().reset_peak();
    real.tape(0).follow(&schedules[0]);
    step(real);
    EXPECT_EQ(real.peak, schedules[0].peak.total_peak);
    EXPECT_EQ(Lab::gradient(real.x)[0], i * 2 * 1.1);
    real.tape(0).clear();
  }
}

TEST_P(PlannedSteps, AStepThatTakesAnotherWayIsRefusedBeforeItsBackward) {
  auto step = [](bool other) {
    return [=](TwoTapes& p) {
      Value one = p.forward();
      p.backward({one});
      Value two = p.forward(), held;
      if (other) held = sin(p.tape(0), two);
      p.backward({two});
    };
  };
  std::vector<Schedule> schedules = schedules_of(step(false));
  TwoTapes real(GetParam(), true);
  for (int t : {0, 1}) real.tape(t).follow(&schedules[static_cast<std::size_t>(t)]);
  expect_error(ErrorKind::replay, {"[sin]", "the end of the forward"}, [&] { step(true)(real); });
}

/// Where rows follow from data each read is thought to need a copy of its own.
TEST(PlannedStepsOfTwoTapes, BoundsStayUntilTheLastTapeThatNeedsThemIsClear) {
  auto preserved = [](bool other) {
    register_builtin_ops();
    Memory memory({.dry = true});
    auto policy = make_policy(Method::whole);
    TraceReplayer replayer;
    Tape first(memory), second(memory);
    auto make = [&](Category category, DType dtype, const Shape& shape) {
      return make_tensor(memory.allocator(), memory.observer(), dtype, shape, category);
    };
    Tensor table = make(Category::state, DType::f32, {64, 8}), rows = make(Category::data, DType::i64, {4});
    LeafRef w = Leaf::create("w", make(Category::parameters, DType::f32, {4, 8}));
    first.set_policy(policy.get());
    first.set_replayer(&replayer);
    Value y = segment(first, "S", [&] {
      Value h = sin(first, mul(first, w, gather_rows(first, table, rows)));
      return sin(first, mul(first, h, gather_rows(first, table, rows)));
    });
    if (other) gather_rows(second, table, rows);
    second.clear();
    assign_rows(first, table, rows, 1.0);
    std::int64_t bytes = memory.meter().live(Category::preserved);
    first.clear();
    return bytes;
  };
  EXPECT_EQ(preserved(false), 2 * 64 * 8 * 4);
  EXPECT_EQ(preserved(true), 2 * 64 * 8 * 4);
}

}  // namespace
}  // namespace reprise
