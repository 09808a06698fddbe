// Programs that reach for what the tape might not expect. Each gives the same bytes under every method, or is refused
// with a reason.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "autograd/hook.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::expect_error;
using testing::Lab;

class StrangeProgram : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, StrangeProgram,
                         ::testing::Values(Method::retain, Method::whole, Method::region, Method::mixed),
                         [](const auto& info) { return to_string(info.param); });

/// The old bytes of u are put back for the product's formula, and still are when the hook runs: nothing is consumed.
/// The hook's write parts u from its view and must copy the newest.
TEST_P(StrangeProgram, AHookWritesAValueWhoseOldBytesAreBeingServed) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({4}, {0.1, 0.2, 0.3, 0.4});
  Value u;
  GradientHook body = [&](const TensorView&) {
    Tape::NoGrad no_grad(t);
    mul_into(t, u, 2.0);
  };
  u = segment(t, "S", [&] { return sin(t, x); });
  Value h = hook(t, mul(t, x, 1.0), body);
  Value product = mul(t, u, h);
  mul_into(t, u, 10.0);
  Value view = reshape(t, u, {2, 2});
  std::vector<double> before = u.tensor().to_doubles(), doubled = before;
  for (double& number : doubled) number *= 2;
  t.backward(sum(t, product), true);
  EXPECT_EQ(u.tensor().to_doubles(), doubled);
  EXPECT_EQ(view.tensor().to_doubles(), before);
}

TEST_P(StrangeProgram, AGradientThatAFormulaReadsIsNotAddedToOnTheWay) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef w = lab.leaf({2, 2}, {0.5, 0.25, 0.75, 1});
  w->grad = make_tensor(lab.memory.allocator(), lab.memory.observer(), DType::f64, {2, 2}, Category::gradients);
  Tensor c = lab.state({2, 2}, {1, 2, 3, 4});
  t.backward(sum(t, mul(t, w, c)));
  t.clear();
  ASSERT_EQ(Lab::gradient(w), (std::vector<double>{1, 2, 3, 4}));
  Value y = segment(t, "S", [&] { return matmul(t, w, w->grad); });
  t.backward(sum(t, y));
  EXPECT_EQ(Lab::gradient(w), (std::vector<double>{1 + 3, 2 + 7, 3 + 3, 4 + 7}));
}

/// Values are told to nobody until an op writes them in place, so these writes find nothing to save; and what such an
/// op saves later is not what was read.
TEST_P(StrangeProgram, AValueThatIsStillNeededIsNotWrittenPastItsTape) {
  for (int way = 0; way < 4; ++way) {
    bool by_an_op = way % 2;
    Lab lab(GetParam());
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({2}, {0.3, 0.4}), w = lab.leaf({2}, {2, 3});
    Value y = sin(t, x);
    Value z = segment(t, "S", [&] { return sin(t, mul(t, y, w)); });
    if (by_an_op)
      assign(t, y.tensor(), 9.0);
    else
      y.tensor().assign_doubles(std::vector<double>{9, 9});
    if (way >= 2) mul_into(t, y, 3.0);
    std::string writer = "last written by host, outside the tape";
    if (by_an_op)
      writer = fmt::format("last written by assign at node {} of step 1", t.data().nodes.size() - 1 - way / 2);
    expect_error(ErrorKind::replay,
                 {"[mul] node 1 of segment 'S' expected operand a (", "bytes [0, 16) of [2] made by sin, node 0)",
                  " at version ", ", got version ", writer, "written past its tape"},
                 [&] { t.backward(z); });
  }
}

TEST_P(StrangeProgram, AValueThatHostCodeFillsBeforeItIsReadHasThoseBytes) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.3, 0.4}), w = lab.leaf({2}, {2, 3});
  Value y = sin(t, x);
  y.tensor().assign_doubles(std::vector<double>{9, 8});
  Value z = segment(t, "S", [&] { return mul(t, y, w); });
  t.backward(z);
  EXPECT_EQ(Lab::gradient(w), (std::vector<double>{9, 8}));
}

TEST_P(StrangeProgram, AStateThatNobodyObservesIsPreservedAllTheSame) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.3, 0.4});
  Tensor plain = make_tensor(lab.memory.allocator(), nullptr, DType::f64, {2}, Category::state);
  plain.assign_doubles(std::vector<double>{2, 3});
  Value y = segment(t, "S", [&] { return mul(t, x, plain); });
  plain.assign_doubles(std::vector<double>{7, 7});
  t.backward(y);
  EXPECT_EQ(Lab::gradient(x), (std::vector<double>{2, 3}));
  EXPECT_EQ(plain.to_doubles(), (std::vector<double>{7, 7}));
  EXPECT_EQ(plain.storage().observer(), nullptr);
}

TEST_P(StrangeProgram, AStateOfAnotherMemoryIsPreservedAllTheSame) {
  Memory other;
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.3, 0.4});
  Tensor theirs = make_tensor(other.allocator(), other.observer(), DType::f64, {2}, Category::state);
  theirs.assign_doubles(std::vector<double>{2, 3});
  Value y = segment(t, "S", [&] { return mul(t, x, theirs); });
  theirs.assign_doubles(std::vector<double>{7, 7});
  Tape second(other);
  expect_error(ErrorKind::user, {"[mul]", "another memory"}, [&] { mul(second, x, theirs); });
  t.backward(y);
  EXPECT_EQ(Lab::gradient(x), (std::vector<double>{2, 3}));
  EXPECT_EQ(theirs.to_doubles(), (std::vector<double>{7, 7}));
  t.clear();
  mul(second, x, theirs);
}

struct Broken : std::exception {};

bool break_replay = false;

void infer_doubling(InferContext&) {}
void forward_doubling(ForwardContext& c) {
  auto* to = c.update(0).as<double>();
  for (std::int64_t i = 0; i < c.update(0).size(); ++i) {
    if (i == 1 && c.replay && std::exchange(break_replay, false)) throw Broken();
    to[i] *= 2;
  }
}
void backward_doubling(BackwardContext& c) {
  for (std::int64_t i = 0; i < c.grad(0).size(); ++i) c.grad(0).as<double>()[i] = 2 * c.grad_updated(0).as<double>()[i];
}
const Op kDoubling{.name = "doubling",
                   .about = "twice the value, in place, by a kernel that may fail half-way",
                   .updates = {"x"},
                   .saves = {{"x", {}}},
                   .infer = infer_doubling,
                   .forward = forward_doubling,
                   .backward = backward_doubling};

/// The half that was written is not written twice.
TEST_P(StrangeProgram, AnInPlaceKernelThatFailsHalfWayInAReplayIsReplayedFromTheStart) {
  auto run = [](bool broken) {
    Lab lab(GetParam());
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({3}, {0.1, 0.2, 0.3});
    Value y = segment(t, "S", [&] {
      Value h = sin(t, x);
      t.apply_none(kDoubling, {h});
      return sin(t, h);
    });
    break_replay = broken;
    try {
      t.backward(y);
    } catch (const Broken&) {
      t.backward(y);
    }
    break_replay = false;
    EXPECT_EQ(lab.memory.preserver().live().reads, 0);
    return Lab::gradient(x);
  };
  EXPECT_EQ(run(true), run(false));
}

std::function<void()> called_back;

void infer_calls_back(InferContext& c) { c.result(0, c.dtype(0), c.shape(0)); }
void scale_by(const TensorView& to, const TensorView& from, const TensorView& scale) {
  for (std::int64_t i = 0; i < to.size(); ++i) to.as<double>()[i] = from.as<double>()[i] * scale.as<double>()[i];
}
const Op kCallsBack{.name = "calls_back",
                    .about = "the product of value and state; its backward calls host code first",
                    .inputs = {"x", "scale"},
                    .outputs = {"out"},
                    .saves = {{"x", {in("scale")}}},
                    .effect = true,
                    .infer = infer_calls_back,
                    .forward = [](ForwardContext& c) { scale_by(c.out(0), c.in(0), c.in(1)); },
                    .backward =
                        [](BackwardContext& c) {
                          called_back();
                          scale_by(c.grad(0), c.grad_out(0), c.in(1));
                        }};

/// What a formula is shown stays, whatever the host code that it calls looks at and writes.
TEST_P(StrangeProgram, AFormulaThatCallsHostCodeKeepsWhatItWasShown) {
  for (bool overwritten : {false, true}) {
    Lab lab(GetParam());
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({2}, {0.3, 0.4});
    Tensor scale = lab.state({2}, {2, 3});
    std::vector<double> seen;
    called_back = [&] {
      seen = scale.to_doubles();
      Tape::NoGrad no_grad(t);
      assign(t, scale, 100.0);
    };
    Value y = segment(t, "S", [&] { return t.apply_one(kCallsBack, {mul(t, x, 1.0), scale}); });
    if (overwritten) assign(t, scale, 7.0);
    t.backward(y);
    EXPECT_EQ(seen, overwritten ? std::vector<double>({7, 7}) : std::vector<double>({2, 3}));
    EXPECT_EQ(Lab::gradient(x), (std::vector<double>{2, 3}));
    EXPECT_EQ(scale.to_doubles(), (std::vector<double>{100, 100}));
  }
}

/// A clear tape has no segment open, whatever its body goes on with.
TEST_P(StrangeProgram, ASegmentWhoseBodyClearsTheTapeIsOver) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.3, 0.4});
  Value lost;
  auto body = [&] {
    lost = sin(t, x);
    t.clear();
    return lost;
  };
  EXPECT_THROW(segment(t, "S", body), Error);
  Value y = segment(t, "S", [&] { return mul(t, x, 2.0); });
  t.backward(y);
  EXPECT_EQ(Lab::gradient(x), (std::vector<double>{2, 2}));
}

TEST_P(StrangeProgram, HooksMayNotTakeTheirBackwardAway) {
  for (int way = 0; way < 3; ++way) {
    Lab lab(GetParam());
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({2}, {0.3, 0.4}), w = lab.leaf({2}, {2, 3});
    Value y;
    bool meddles = true;
    w->hooks.emplace_back([&](Leaf&) {
      if (!meddles) return;
      if (way == 0) t.backward(y);
      if (way == 1) t.abandon_backward();
      if (way == 2) t.clear();
    });
    y = segment(t, "S", [&] { return mul(t, sin(t, x), w); });
    expect_error(ErrorKind::user, {"[backward]"}, [&] { t.backward(y); });
    meddles = false;
    t.backward(y);
    EXPECT_NEAR(Lab::gradient(w)[0], std::sin(0.3), 1e-15) << way;
    EXPECT_NEAR(Lab::gradient(w)[1], std::sin(0.4), 1e-15) << way;
  }
}

TEST_P(StrangeProgram, ABackwardGoesOnThoughAHookHasWrittenItsRootBeforeItFailed) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.3, 0.4}), w = lab.leaf({2}, {2, 3});
  Value y = segment(t, "S", [&] { return mul(t, sin(t, x), w); });
  std::vector<double> moved = y.tensor().to_doubles();
  for (double& number : moved) number += 1;
  int failures = 1;
  w->hooks.emplace_back([&](Leaf&) {
    Tape::NoGrad no_grad(t);
    add_into(t, y, 1.0);
  });
  x->hooks.emplace_back([&](Leaf&) {
    if (failures-- > 0) throw Broken();
  });
  EXPECT_THROW(t.backward(y), Broken);
  t.backward(y);
  EXPECT_EQ(y.tensor().to_doubles(), moved);
  EXPECT_NEAR(Lab::gradient(x)[0], 2 * std::cos(0.3), 1e-15);
}

TEST_P(StrangeProgram, AParameterThatHasGrownSinceItWasReadIsNotGivenAGradientOfItsOldSize) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.3, 0.4}, "x");
  Value y = segment(t, "S", [&] { return mul(t, x, 2.0); });
  x->data = lab.state({3}, {1, 2, 3});
  x->grad = make_tensor(lab.memory.allocator(), lab.memory.observer(), DType::f64, {3}, Category::gradients);
  expect_error(ErrorKind::user, {"[backward]", "'x'", "[2]", "[3]"}, [&] { t.backward(y); });
  x->grad = Tensor();
  t.backward(y);
  EXPECT_EQ(x->grad.to_doubles(), (std::vector<double>{2, 2}));
}

TEST_P(StrangeProgram, APartOfAGradientThatWasAbandonedIsReadByNobodyUntilItIsCleared) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.3, 0.4}, "x"), w = lab.leaf({2}, {2, 3}, "w");
  GradientHook fails = [](const TensorView&) { throw Broken(); };
  Value h = hook(t, mul(t, x, 2.0), fails);
  Value y = add(t, h, mul(t, x, w));
  EXPECT_THROW(t.backward(y), Broken);
  EXPECT_EQ(w->grad.to_doubles(), (std::vector<double>{0.3, 0.4}));  // complete: its last formula has run
  EXPECT_EQ(x->grad.to_doubles().size(), 2u);                        // the backward may still go on
  t.abandon_backward();
  expect_error(ErrorKind::user, {"[host_read]", "abandoned", "clear_grad()"}, [&] { x->grad.to_doubles(); });
  expect_error(ErrorKind::user, {"[mul]", "abandoned", "clear_grad()"}, [&] { mul(t, x->grad, 2.0); });
  EXPECT_EQ(w->grad.to_doubles(), (std::vector<double>{0.3, 0.4}));
  x->clear_grad();
  EXPECT_EQ(x->grad.to_doubles().size(), 2u);
  Value z = segment(t, "S", [&] { return mul(t, x, 3.0); });
  t.backward(z);
  EXPECT_EQ(Lab::gradient(x), (std::vector<double>{3, 3}));
}

TEST_P(StrangeProgram, NothingIsAddedToAPartOfAGradientThatWasAbandoned) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {0.3, 0.4}, "x");
  Tensor a = lab.state({2}, {2, 3});
  GradientHook fails = [](const TensorView&) { throw Broken(); };
  Value h = hook(t, mul(t, x, a), fails);
  Value y = add(t, h, mul(t, x, a));
  EXPECT_THROW(t.backward(y), Broken);
  t.abandon_backward();
  t.clear();
  Value z = segment(t, "S", [&] { return mul(t, x, a); });
  expect_error(ErrorKind::user, {"[backward]", "'x'", "abandoned"}, [&] { t.backward(z); });
  x->clear_grad();
  t.backward(z);
  EXPECT_EQ(Lab::gradient(x), (std::vector<double>{2, 3}));
}

}  // namespace
}  // namespace reprise
