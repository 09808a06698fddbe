// Every allocation and every node of a backward is made to fail once. After each failure states and streams are at
// their newest and the same backward, called again, completes with the bits of one that never failed.
#include <gtest/gtest.h>

#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

struct Injected : std::exception {};

class FailAt final : public TapeObserver {
 public:
  explicit FailAt(int at) : left_(at) {}
  void before_replay(const Tape&, std::uint32_t) override { tick(); }
  void before_backward(const Tape&, std::uint32_t) override { tick(); }
  bool fired() const { return left_ < 0; }

 private:
  void tick() {
    if (left_ >= 0 && left_-- == 0) throw Injected();
  }
  int left_;
};

/// One step with state read, written inside and after, in-place values, draws, two segments, and hooks.
class Step {
 public:
  explicit Step(Method method)
      : lab_(method),
        x_(lab_.leaf({4, 2}, {.1, .2, .3, .4, .5, .6, .7, .8})),
        w_(lab_.leaf({4, 2}, {1, .9, .8, .7, .6, .5, .4, .3})) {
    table_ = lab_.state({4, 2}, {2, 3, 4, 5, 6, 7, 8, 9});
    counter_ = lab_.state({1}, {0});
    w_->hooks.push_back([this](Leaf&) { enter_hook(); });
    x_->hooks.push_back([this](Leaf&) { enter_hook(); });
    Tape& t = *lab_.tape;
    Value h = segment(t, "first", [&] { return block(mul(t, x_, 1.0)); });
    mul_into(t, table_, 0.5);
    y_ = segment(t, "second", [&] { return block(h); });
    h.reset();
    roots_ = {mul(t, y_, 2.0), y_};
    add_into(t, table_, 0.25);
  }

  Value block(const Value& in) {
    Tape& t = *lab_.tape;
    Value h = sin(t, mul(t, in, gather_rows(t, table_, lab_.indices({0, 1, 2, 3}))));
    assign_rows(t, table_, lab_.indices({1, 2}), 0.75);
    Value early = mul(t, h, w_);
    mul_into(t, h, 1.5);
    return mul(t, dropout(t, stream_, tanh(t, h), 0.25), early);
  }

  void enter_hook() {
    if (fail_hook >= 0 && fail_hook-- == 0) throw Injected();
    ++hooks_run;
    Tape::NoGrad no_grad(*lab_.tape);
    add_into(*lab_.tape, counter_, 1.0);
  }

  std::vector<double> bytes() const {
    std::vector<double> all = table_.to_doubles();
    for (const LeafRef& leaf : {x_, w_}) {
      for (double v : leaf->data.to_doubles()) all.push_back(v);
    }
    all.push_back(static_cast<double>(stream_.position));
    return all;
  }
  std::vector<double> gradients() const {
    std::vector<double> all = Lab::gradient(x_);
    for (double v : Lab::gradient(w_)) all.push_back(v);
    return all;
  }

  Lab lab_;
  LeafRef x_, w_;
  Tensor table_, counter_;
  Stream stream_{"r", 3, 0, 0};
  Value y_;
  std::vector<Value> roots_;  // the second needs a gradient of its own and gets one from the first
  int fail_hook = -1;
  int hooks_run = 0;
};

class Fault : public ::testing::TestWithParam<Method> {
 protected:
  struct Result {
    std::vector<double> gradients, bytes;
    friend bool operator==(const Result&, const Result&) = default;
  };
  Result undisturbed() {
    Step step(GetParam());
    step.lab_.tape->backward(step.roots_);
    return {step.gradients(), step.bytes()};
  }
  /// Runs `step` to its end after a failure, checking what must hold in between.
  void resume(Step& step, const std::vector<double>& before) {
    EXPECT_EQ(step.lab_.memory.preserver().open_blocks(), 0);
    EXPECT_EQ(step.bytes(), before);
    step.lab_.tape->backward(step.roots_);
    Result result{step.gradients(), step.bytes()};
    EXPECT_EQ(result, undisturbed());
    EXPECT_EQ(step.hooks_run, 2);
    EXPECT_EQ(step.lab_.memory.preserver().live().reads, 0);
    EXPECT_EQ(step.lab_.memory.meter().live(Category::cotangents), 0);
    EXPECT_EQ(step.lab_.memory.meter().live(Category::preserved), 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Methods, Fault,
                         ::testing::Values(Method::retain, Method::whole, Method::region, Method::mixed),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(Fault, EveryNodeOfTheBackwardFailsOnce) {
  int cases = 0;
  for (int at = 0;; ++at, ++cases) {
    Step step(GetParam());
    std::vector<double> before = step.bytes();
    FailAt fault(at);
    step.lab_.tape->set_observer(&fault);
    try {
      step.lab_.tape->backward(step.roots_);
      ASSERT_FALSE(fault.fired());
      break;
    } catch (const Injected&) {
    }
    resume(step, before);
  }
  EXPECT_GE(cases, 15);
}

TEST_P(Fault, EveryAllocationOfTheBackwardFailsOnce) {
  int cases = 0;
  for (int at = 0;; ++at, ++cases) {
    Step step(GetParam());
    std::vector<double> before = step.bytes();
    step.lab_.memory.fail_allocation(at);
    try {
      step.lab_.tape->backward(step.roots_);
      step.lab_.memory.fail_allocation(-1);
      break;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::memory);
    }
    resume(step, before);
  }
  EXPECT_GE(cases, 8);
}

TEST_P(Fault, AHookThatThrowsRunsAgainInFull) {
  for (int at = 0; at < 2; ++at) {
    Step step(GetParam());
    step.fail_hook = at;
    std::vector<double> before = step.bytes();
    EXPECT_THROW(step.lab_.tape->backward(step.roots_), Injected);
    resume(step, before);
    EXPECT_EQ(step.counter_.to_doubles()[0], 2.0);
  }
}

TEST_P(Fault, AnotherBackwardIsRefusedUntilTheFailedOneIsAbandoned) {
  Step step(GetParam());
  FailAt fault(3);
  step.lab_.tape->set_observer(&fault);
  EXPECT_THROW(step.lab_.tape->backward(step.roots_), Injected);
  EXPECT_THROW(step.lab_.tape->backward(step.roots_, true), Error);
  step.lab_.tape->abandon_backward();
  EXPECT_EQ(step.lab_.memory.meter().live(Category::cotangents), 0);
}

}  // namespace
}  // namespace reprise
