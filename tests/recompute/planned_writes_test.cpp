// A planned step owes only the reads that its traced backward needs. Whatever is written that no trace knows of (by an
// optimiser inside the backward, by hooks, by host code before it) is honoured all the same; what cannot be is refused
// before anything moves.
#include <gtest/gtest.h>

#include "autograd/hook.h"
#include "ops/arithmetic.h"
#include "ops/optimiser.h"
#include "ops/reduce.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "recompute/plan_step.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::expect_error;
using testing::Lab;

/// Two parts, segments or not, that read a state and share a parameter.
class WritingStep {
 public:
  WritingStep(Method method, bool segments, bool dry = false)
      : lab(method, DType::f64, 1, dry),
        x(lab.leaf({4}, {0.1, 0.2, 0.3, 0.4}, "x")),
        w(lab.leaf({4}, {1.1, 0.9, 0.8, 1.2}, "w")),
        v(lab.leaf({4}, {0.5, 0.6, 0.7, 0.8}, "v")),
        b(lab.state({4}, {2, 3, 4, 5})),
        segments_(segments) {
    for (const LeafRef& leaf : {x, w, v}) {  // else the first step would make them
      leaf->grad = make_tensor(lab.memory.allocator(), lab.memory.observer(), DType::f64, {4}, Category::gradients);
    }
  }

  Value forward() {
    Tape& t = *lab.tape;
    Value h = part("first", [&] { return sin(t, mul(t, sin(t, mul(t, x, b)), w)); });
    h = hook(t, h, on_value_);
    Value y = part("second", [&] { return mul(t, sin(t, mul(t, h, w)), mul(t, b, v)); });
    h.reset();
    return sum(t, y);
  }

  void halve(const Tensor& tensor) {
    std::vector<double> bytes = tensor.to_doubles();
    for (double& number : bytes) number /= 2;
    tensor.assign_doubles(bytes);
  }
  void descend(const LeafRef& leaf) {
    OptimiserSlot slot;
    slot.parameter = leaf;
    sgd_step(std::span(&slot, 1), {.lr = 0.1});
  }
  void double_state() {
    Tape::NoGrad no_grad(*lab.tape);
    mul_into(*lab.tape, b, 2.0);
  }
  std::vector<double> bytes() const {
    std::vector<double> all = b.to_doubles();
    for (const LeafRef& leaf : {x, w, v}) {
      for (double number : leaf->data.to_doubles()) all.push_back(number);
      for (double number : Lab::gradient(leaf)) all.push_back(number);
    }
    return all;
  }

  Lab lab;
  LeafRef x, w, v;
  Tensor b;
  std::function<void()> in_value_hook;

 private:
  template <class Body>
  Value part(const char* name, Body&& body) {
    return segments_ ? segment(*lab.tape, name, body) : body();
  }

  bool segments_;
  GradientHook on_value_ = [this](const TensorView&) {
    if (in_value_hook) in_value_hook();
  };
};

Schedule schedule_of(Method method) {
  WritingStep dry(method, true, true);
  return make_schedule(*dry.lab.tape, [&] { return dry.forward(); });
}

/// Two steps: `prepare` once, then `between` forward and backward and `after` the backward of each.
struct Script {
  std::function<void(WritingStep&)> prepare, between, after;
};

std::vector<double> run_steps(WritingStep& step, const Script& script, const Schedule* schedule) {
  Tape& t = *step.lab.tape;
  if (script.prepare) script.prepare(step);
  std::int64_t level = step.lab.memory.meter().live();
  for (int i = 0; i < 2; ++i) {
    if (schedule) t.follow(schedule);
    {
      Value root = step.forward();
      if (script.between) script.between(step);
      t.backward(root);
    }
    if (script.after) script.after(step);
    t.clear();
    EXPECT_EQ(step.lab.memory.meter().live(), level) << "a step leaves bytes behind";
    EXPECT_EQ(step.lab.memory.preserver().live().reads, 0);
  }
  return step.bytes();
}

class PlannedWrites : public ::testing::TestWithParam<Method> {
 protected:
  /// A planned run of `script` gives the bytes of one without segments and schedule.
  static void expect_honoured(const Script& script) {
    WritingStep plain(Method::retain, false), planned(GetParam(), true);
    Schedule schedule = schedule_of(GetParam());
    ASSERT_TRUE(schedule.exact);
    std::vector<double> expected = run_steps(plain, script, nullptr);
    EXPECT_EQ(run_steps(planned, script, &schedule), expected);
  }
};
INSTANTIATE_TEST_SUITE_P(Methods, PlannedWrites, ::testing::Values(Method::retain, Method::whole, Method::region),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(PlannedWrites, AnOptimiserInsideTheBackwardIsHonoured) {
  expect_honoured({.prepare = [](WritingStep& step) {
    // v is complete first; w and b are still to be read by both parts' formulas and by the replay of the first.
    step.v->hooks.emplace_back([&step](Leaf&) {
      step.descend(step.v);
      step.halve(step.w->data);
      step.double_state();
    });
    step.w->hooks.emplace_back([&step](Leaf&) { step.descend(step.w); });
    step.x->hooks.emplace_back([&step](Leaf&) { step.descend(step.x); });
  }});
}

TEST_P(PlannedWrites, AHookOnAValueMayWriteWhatIsStillOwed) {
  expect_honoured({.prepare = [](WritingStep& step) {
    step.in_value_hook = [&step] {
      step.double_state();
      step.halve(step.w->data);
      step.halve(step.x->data);
    };
  }});
}

TEST_P(PlannedWrites, HostCodeBeforeTheBackwardIsHonoured) {
  expect_honoured({.between = [](WritingStep& step) {
    step.halve(step.w->data);
    step.halve(step.b);
  }});
}

TEST_P(PlannedWrites, OpsAfterTheBackwardAreNotHeldAgainstTheSchedule) {
  expect_honoured({.after = [](WritingStep& step) {
    step.double_state();
    step.descend(step.w);
  }});
}

/// Recorded like when it was traced, but a result is held that had no handle then: its formula's reads are owed by
/// nobody, and regions that depend on data hide that its memory is held.
TEST_P(PlannedWrites, ABackwardThatNobodyForesawIsRefusedBeforeAnythingMoves) {
  auto forward = [](WritingStep& step, Value* held) {
    Tape& t = *step.lab.tape;
    Value y = segment(t, "S", [&] {
      Value aside = mul(t, step.w, step.b);
      if (held) *held = aside;
      return sin(t, mul(t, step.x, step.v));
    });
    assign(t, step.b, 1.0);
    return sum(t, y);
  };
  WritingStep dry(GetParam(), true, true), real(GetParam(), true);
  Schedule schedule = make_schedule(*dry.lab.tape, [&] { return forward(dry, nullptr); });
  schedule.exact = false;
  real.lab.tape->follow(&schedule);
  Value held;
  Value root = forward(real, &held);
  std::vector<double> before = real.bytes();
  expect_error(ErrorKind::replay, {"[schedule]", "mul", "nobody owes"}, [&] { real.lab.tape->backward(held); });
  EXPECT_EQ(real.bytes(), before);
  real.lab.tape->backward(root);  // what was foreseen goes on
  EXPECT_FALSE(real.x->grad_empty);
}

}  // namespace
}  // namespace reprise
