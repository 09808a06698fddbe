// Every allocation, node and kernel of a backward is made to fail once, and it is asked to stop before every node.
// After each failure states and streams are at their newest, the live bytes at their level before the node that failed,
// and the same backward, called again, completes with the bits of one that never failed. Without a schedule and with
// one.
#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>

#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "recompute/plan_step.h"
#include "tests/autograd/lying_ops.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

struct Injected : std::exception {};

int break_in = -1;  // calls of a kernel below until one throws; negative: none does

/// Spoils what it was to write, so that a resumed backward that kept it would show.
void break_at(const TensorView& to) {
  if (break_in < 0 || break_in-- > 0) return;
  std::memset(to.data, 0x7b, sizeof(double));
  throw Injected();
}

/// Honest, but for a kernel that may fail half-way.
Op brittle_op() {
  Op op = lying::op_named("brittle");
  op.forward = [](ForwardContext& c) {
    break_at(c.out(0));
    lying::honest_forward(c);
  };
  op.backward = [](BackwardContext& c) {
    break_at(c.grad(0));
    lying::honest_backward(c);
  };
  return op;
}
const Op kBrittle = brittle_op();

/// Whether the tape follows a schedule, and whether hooks run, after which it goes its way without.
enum class Mode : std::uint8_t { online, planned, planned_with_hooks };
const char* to_string(Mode mode) {
  return mode == Mode::online ? "online" : mode == Mode::planned ? "planned" : "planned_with_hooks";
}

/// One step with state read, written inside and after, in-place values, draws, two segments, and hooks.
class Step {
 public:
  Step(Method method, Mode mode) : Step(method, false) {
    if (mode != Mode::online) {
      Step dry(method, true);
      schedule_ = make_schedule(*dry.lab_.tape, [&] { return dry.forward(true).front(); });
      EXPECT_TRUE(schedule_.exact);
      lab_.tape->follow(&schedule_);
    }
    if (mode != Mode::planned) {
      w_->hooks.push_back([this](Leaf&) { enter_hook(); });
      x_->hooks.push_back([this](Leaf&) { enter_hook(); });
    }
    hooks_expected = mode == Mode::planned ? 0 : 2;
    roots_ = forward(mode != Mode::online);
  }

  /// Two roots, of which the second needs a gradient of its own and gets one from the first; or one, for a schedule.
  std::vector<Value> forward(bool one_root) {
    Tape& t = *lab_.tape;
    stream_.position = 0;
    Value h = segment(t, "first", [&] { return block(add(t, x_, b_), w_); });
    mul_into(t, table_, 0.5);
    Value y = segment(t, "second", [&] { return block(h, v_); });
    h.reset();
    Value z = mul(t, y, 2.0);
    std::vector<Value> roots{one_root ? add(t, z, y) : z};
    if (!one_root) roots.push_back(y);
    add_into(t, table_, 0.25);
    return roots;
  }

  Value block(const Value& in, const LeafRef& w) {
    Tape& t = *lab_.tape;
    Value h = sin(t, mul(t, mul(t, in, gather_rows(t, table_, all_rows_)), scale_));
    h = t.apply_one(kBrittle, {h});
    assign_rows(t, table_, some_rows_, 0.75);
    Value early = mul(t, h, w);
    mul_into(t, h, 1.5);
    return mul(t, dropout(t, stream_, tanh(t, h), 0.25), early);
  }

  void enter_hook() {
    note_level();
    if (fail_hook >= 0 && fail_hook-- == 0) throw Injected();
    Tape::NoGrad no_grad(*lab_.tape);
    add_into(*lab_.tape, counter_, 1.0);
    ++hooks_run;
  }
  void note_level() { level = lab_.memory.meter().live(); }

  std::vector<double> bytes() const {
    std::vector<double> all = table_.to_doubles();
    for (double v : scale_.to_doubles()) all.push_back(v);
    for (const LeafRef& leaf : {x_, b_, w_, v_}) {
      for (double v : leaf->data.to_doubles()) all.push_back(v);
    }
    all.push_back(static_cast<double>(stream_.position));
    return all;
  }
  std::vector<double> gradients() const {
    std::vector<double> all;
    for (const LeafRef& leaf : {x_, b_, w_, v_}) {
      for (double v : Lab::gradient(leaf)) all.push_back(v);
    }
    return all;
  }

  Lab lab_;
  LeafRef x_, b_, w_, v_;
  Tensor table_, scale_, counter_;
  Tensor all_rows_, some_rows_;
  Stream stream_{"r", 3, 0, 0};
  Schedule schedule_;
  std::vector<Value> roots_;
  std::int64_t level = 0;  // live bytes when the last node or hook began
  int fail_hook = -1;
  int hooks_run = 0, hooks_expected = 0;

 private:
  Step(Method method, bool dry)
      : lab_(method, DType::f64, 1, dry),
        x_(lab_.leaf({4, 2}, {.1, .2, .3, .4, .5, .6, .7, .8})),
        b_(lab_.leaf({4, 2}, {.2, .1, .2, .1, .2, .1, .2, .1})),
        w_(lab_.leaf({4, 2}, {1, .9, .8, .7, .6, .5, .4, .3})),
        v_(lab_.leaf({4, 2}, {.3, .4, .5, .6, .7, .8, .9, 1})) {
    table_ = lab_.state({4, 2}, {2, 3, 4, 5, 6, 7, 8, 9});
    scale_ = lab_.state({4, 2}, {1.1, .9, 1.2, .8, 1.3, .7, 1.4, .6});
    counter_ = lab_.state({1}, {0});
    all_rows_ = rows({0, 1, 2, 3});
    some_rows_ = rows({1, 2});
  }

  /// Known to a dry trace too, so that its schedule is exact.
  Tensor rows(const std::vector<double>& at) {
    Memory& memory = lab_.memory;
    Tensor t = make_tensor(memory.backed_allocator(), memory.observer(), DType::i64,
                           Shape{static_cast<std::int64_t>(at.size())}, Category::data);
    t.assign_doubles(at);
    t.storage().mark_constant();
    return t;
  }
};

int stop_in = -1;         // questions until the answer is to stop; negative: it never is
Step* stopped = nullptr;  // whose tape asks

bool stop_now() {
  stopped->note_level();
  return stop_in >= 0 && stop_in-- == 0;
}

/// Notes the live bytes when each node begins, and fails one.
class FailAt final : public TapeObserver {
 public:
  FailAt(Step& step, int at) : step_(step), left_(at) {
    step.note_level();
    step.lab_.tape->set_observer(this);
  }
  void before_replay(const Tape&, std::uint32_t) override { tick(); }
  void before_backward(const Tape&, std::uint32_t) override { tick(); }
  bool fired() const { return left_ < 0; }

 private:
  void tick() {
    step_.note_level();
    if (left_ >= 0 && left_-- == 0) throw Injected();
  }
  Step& step_;
  int left_;
};

class Fault : public ::testing::TestWithParam<std::tuple<Method, Mode>> {
 protected:
  struct Result {
    std::vector<double> gradients, bytes;
    friend bool operator==(const Result&, const Result&) = default;
  };
  static Method method() { return std::get<0>(GetParam()); }
  static Mode mode() { return std::get<1>(GetParam()); }
  void TearDown() override { break_in = stop_in = -1; }
  static Result undisturbed() {
    Step step(method(), mode());
    step.lab_.tape->backward(step.roots_);
    return {step.gradients(), step.bytes()};
  }
  /// Runs `step` to its end after a failure, checking what must hold in between.
  static void resume(Step& step, const std::vector<double>& before) {
    EXPECT_EQ(step.lab_.memory.meter().live(), step.level);
    EXPECT_EQ(step.lab_.memory.preserver().open_blocks(), 0);
    EXPECT_EQ(step.bytes(), before);
    step.lab_.tape->backward(step.roots_);
    Result result{step.gradients(), step.bytes()};
    EXPECT_EQ(result, undisturbed());
    EXPECT_EQ(step.hooks_run, step.hooks_expected);
    EXPECT_EQ(step.lab_.memory.preserver().live().reads, 0);
    EXPECT_EQ(step.lab_.memory.meter().live(Category::cotangents), 0);
    EXPECT_EQ(step.lab_.memory.meter().live(Category::preserved), 0);
  }
  /// Lets the first, second, ... thing of a backward fail, as `arm` arranges it, and resumes each, until one goes
  /// through. Returns how many failed. `spent`: whether what was armed has gone off.
  template <class Failure, class Arm, class Spent>
  static int fail_in_turn(const Arm& arm, const Spent& spent) {
    for (int at = 0;; ++at) {
      Step step(method(), mode());
      std::vector<double> before = step.bytes();
      FailAt armed = arm(step, at);
      try {
        step.lab_.tape->backward(step.roots_);
        EXPECT_FALSE(spent(armed)) << "the backward went on as if nothing had failed";
        step.lab_.memory.fail_allocation(-1);
        return at;
      } catch (const Failure& failure) {
        if constexpr (std::is_same_v<Failure, Error>) {
          if (failure.kind() != ErrorKind::memory) throw;
        }
      }
      resume(step, before);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Methods, Fault,
                         ::testing::Combine(::testing::Values(Method::retain, Method::whole, Method::region,
                                                              Method::mixed),
                                            ::testing::Values(Mode::online, Mode::planned, Mode::planned_with_hooks)),
                         [](const auto& info) {
                           return std::string(to_string(std::get<0>(info.param))) + "_" +
                                  to_string(std::get<1>(info.param));
                         });

TEST_P(Fault, EveryNodeOfTheBackwardFailsOnce) {
  auto arm = [](Step& step, int at) { return FailAt(step, at); };
  EXPECT_GE(fail_in_turn<Injected>(arm, [](const FailAt& fault) { return fault.fired(); }), 15);
}

TEST_P(Fault, EveryAllocationOfTheBackwardFailsOnce) {
  auto arm = [](Step& step, int at) {
    step.lab_.memory.fail_allocation(at);
    return FailAt(step, -1);
  };
  EXPECT_GE(fail_in_turn<Error>(arm, [](const FailAt&) { return false; }), 8);
}

TEST_P(Fault, EveryCallOfAKernelFailsOnceHalfWay) {
  auto arm = [](Step& step, int at) {
    break_in = at;
    return FailAt(step, -1);
  };
  int least = method() == Method::whole || method() == Method::region ? 4 : 2;
  EXPECT_GE(fail_in_turn<Injected>(arm, [](const FailAt&) { return break_in < 0; }), least);
}

TEST_P(Fault, AStopIsHeardBeforeEveryNode) {
  auto arm = [](Step& step, int at) {
    step.lab_.tape->set_stop(&stop_now);
    stopped = &step;
    stop_in = at;
    return FailAt(step, -1);
  };
  EXPECT_GE(fail_in_turn<Interrupted>(arm, [](const FailAt&) { return stop_in < 0; }), 15);
}

TEST_P(Fault, AHookThatThrowsRunsAgainInFull) {
  if (mode() == Mode::planned) GTEST_SKIP() << "the step has no hooks";
  for (int at = 0; at < 2; ++at) {
    Step step(method(), mode());
    step.fail_hook = at;
    std::vector<double> before = step.bytes();
    EXPECT_THROW(step.lab_.tape->backward(step.roots_), Injected);
    resume(step, before);
    EXPECT_EQ(step.counter_.to_doubles()[0], 2.0);
  }
}

TEST_P(Fault, AHookMayWriteStateThatIsStillOwed) {
  Step step(method(), mode());
  const Preserver& preserver = step.lab_.memory.preserver();
  std::int64_t preserved = 0;
  step.v_->hooks.push_back([&](Leaf&) {
    std::int64_t before = preserver.ever().copies + preserver.ever().blocks;
    mul_into(*step.lab_.tape, step.scale_, 2.0);
    preserved += preserver.ever().copies + preserver.ever().blocks - before;
  });
  std::vector<double> doubled = step.scale_.to_doubles();
  for (double& v : doubled) v *= 2;
  step.lab_.tape->backward(step.roots_);
  EXPECT_GT(preserved, 0);
  EXPECT_EQ(step.scale_.to_doubles(), doubled);
  EXPECT_EQ(step.gradients(), undisturbed().gradients);
  EXPECT_EQ(preserver.live().reads, 0);
}

TEST_P(Fault, AnotherBackwardOverTheSameForwardSeesWhatItSaw) {
  Step step(method(), mode());
  step.lab_.tape->backward(step.roots_, true);
  std::vector<double> once = step.gradients();
  EXPECT_EQ(once, undisturbed().gradients);
  add_into(*step.lab_.tape, step.scale_, 1.0);
  step.lab_.tape->backward(step.roots_);
  for (double& v : once) v *= 2;  // each leaf is given one contribution a backward
  EXPECT_EQ(step.gradients(), once);
  EXPECT_EQ(step.hooks_run, 2 * step.hooks_expected);
  EXPECT_EQ(step.lab_.memory.preserver().live().reads, 0);
}

TEST_P(Fault, AnotherBackwardIsRefusedUntilTheFailedOneIsAbandoned) {
  Step step(method(), mode());
  FailAt fault(step, 3);
  EXPECT_THROW(step.lab_.tape->backward(step.roots_), Injected);
  EXPECT_THROW(step.lab_.tape->backward(step.roots_, true), Error);
  step.lab_.tape->abandon_backward();
  EXPECT_EQ(step.lab_.memory.meter().live(Category::cotangents), 0);
}

}  // namespace
}  // namespace reprise
