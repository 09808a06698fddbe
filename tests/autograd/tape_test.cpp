#include "autograd/tape.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/segment.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

TEST(Tape, GradientOfAChain) {
  Lab lab;
  LeafRef x = lab.leaf({2}, {0.3, -1.2});
  Value y = mul(*lab.tape, sin(*lab.tape, x), 3.0);
  lab.tape->backward(y);
  EXPECT_DOUBLE_EQ(Lab::gradient(x)[0], 3 * std::cos(0.3));
  EXPECT_DOUBLE_EQ(Lab::gradient(x)[1], 3 * std::cos(-1.2));
}

TEST(Tape, ANullLeafIsAUsersMistakeWhereverAnOpIsGivenIt) {
  Lab lab;
  LeafRef x = lab.leaf({2, 2}, {1, 2, 3, 4}), none, empty = Leaf::create("empty", Tensor());
  Tensor state = lab.state({2, 2}, {1, 2, 3, 4}), rows = lab.indices({0});
  auto refuses = [](std::initializer_list<std::string> words, const std::function<void()>& call) {
    testing::expect_error(ErrorKind::user, words, call);
  };
  Tape& t = *lab.tape;
  refuses({"[operand]", "null"}, [&] { mul(t, none, x); });
  refuses({"[operand]", "null"}, [&] { mul(t, x, none); });
  refuses({"[operand]", "null"}, [&] { mul(t, 2.0, none); });
  refuses({"[operand]", "null"}, [&] { mul_into(t, state, none); });
  refuses({"[operand]", "null"}, [&] { reshape(t, none, {4}); });
  refuses({"[operand]", "null"}, [&] { gather_rows(t, none, rows); });
  refuses({"[operand]", "null"}, [&] { Arg(none).shape(); });
  refuses({"[operand]", "null"}, [&] { Arg(none).dtype(); });
  refuses({"[operand]", "'empty' without"}, [&] { mul(t, x, empty); });
  EXPECT_EQ(state.storage().clock(), 1u);
  EXPECT_TRUE(t.data().nodes.empty());
}

TEST(Tape, GradientOfALeafReadTwiceIsTheSum) {
  Lab lab;
  LeafRef x = lab.leaf({1}, {2.0});
  lab.tape->backward(add(*lab.tape, mul(*lab.tape, x, x), x));
  EXPECT_DOUBLE_EQ(Lab::gradient(x)[0], 5.0);
}

TEST(Tape, StateOverwrittenBeforeBackwardStillGivesTheForwardsGradient) {
  Lab lab;
  LeafRef x = lab.leaf({2}, {1.0, 1.0});
  Tensor b = lab.state({2}, {2.0, 3.0});
  Value y = mul(*lab.tape, x, b);
  assign(*lab.tape, b, 7.0);
  lab.tape->backward(y);
  EXPECT_EQ(Lab::gradient(x), (std::vector<double>{2.0, 3.0}));
  EXPECT_EQ(b.to_doubles(), (std::vector<double>{7.0, 7.0}));
}

TEST(Tape, ParameterSteppedBeforeBackwardStillGivesTheForwardsGradient) {
  Lab lab;
  LeafRef w = lab.leaf({1}, {2.0});
  Value y = mul(*lab.tape, w, w);
  assign(*lab.tape, w->data, 10.0);
  lab.tape->backward(y);
  EXPECT_DOUBLE_EQ(Lab::gradient(w)[0], 4.0);
}

TEST(Tape, ValueWrittenInPlaceIsANewValueForEveryHandle) {
  Lab lab;
  LeafRef x = lab.leaf({1}, {0.5});
  Value h = sin(*lab.tape, x);
  Value other = h;
  Value early = mul(*lab.tape, h, h);
  mul_into(*lab.tape, h, 4.0);
  Value late = mul(*lab.tape, other, other);
  lab.tape->backward(add(*lab.tape, early, late));
  EXPECT_NEAR(Lab::gradient(x)[0], 17 * 2 * std::sin(0.5) * std::cos(0.5), 1e-14);
}

TEST(Tape, InPlaceWriteLeavesAViewThatIsNamedAlone) {
  Lab lab;
  LeafRef x = lab.leaf({2, 2}, {1, 2, 3, 4});
  Value h = mul(*lab.tape, x, 1.0);
  Value flat = reshape(*lab.tape, h, {4});
  mul_into(*lab.tape, h, 10.0);
  EXPECT_EQ(flat.tensor().to_doubles(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(h.tensor().to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

TEST(Tape, AViewOfStateDoesNotMoveWithTheState) {
  Lab lab;
  Tensor b = lab.state({2, 2}, {1, 2, 3, 4});
  Value flat = reshape(*lab.tape, b, {4});
  assign(*lab.tape, b, 0.0);
  EXPECT_EQ(flat.tensor().to_doubles(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Tape, AnInputThatSharesMemoryWithAnUpdateIsReadFirst) {
  Lab lab;
  Tensor b = lab.state({4}, {1, 2, 3, 4});
  Tensor low = b.with_view({3}, {1}, 0), high = b.with_view({3}, {1}, 1);
  assign(*lab.tape, high, low);
  EXPECT_EQ(b.to_doubles(), (std::vector<double>{1, 1, 2, 3}));
}

TEST(Tape, OperandsAreMadeContiguousByTheOneOpThatSaysThatItCopies) {
  Lab lab;
  Value y = reshape(*lab.tape, lab.state({2}, {1, 2}), {2, 1});
  EXPECT_EQ(lab.tape->data().nodes[0].op, copying_op());
  static Op second = *copying_op();
  second.name = "second_copy";
  testing::expect_error(ErrorKind::user, {"expected one op that copies"}, [&] { register_op(second); });
  EXPECT_EQ(find_op("second_copy"), nullptr);
}

TEST(Tape, AnOpWhoseContractContradictsItselfIsNotRegistered) {
  register_builtin_ops();
  std::size_t before = registered_ops().size();
  static Op twisted = *find_op("sin");
  twisted.name = "twisted";
  twisted.reuse = {{"nothing of that name", "out"}};
  for (int i = 0; i < 2; ++i) {
    testing::expect_error(ErrorKind::internal, {"[twisted]", "nothing of that name"}, [&] { register_op(twisted); });
    EXPECT_EQ(find_op("twisted"), nullptr);
  }
  EXPECT_EQ(registered_ops().size(), before);
}

TEST(Tape, ASecondBackwardWithoutKeepNamesTheNode) {
  Lab lab;
  LeafRef x = lab.leaf({1}, {0.5});
  Value y = sin(*lab.tape, x);
  lab.tape->backward(y);
  try {
    lab.tape->backward(y);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_NE(std::string(error.what()).find("sin"), std::string::npos) << error.what();
  }
}

TEST(Tape, KeptGraphCanBeDifferentiatedAgain) {
  Lab lab;
  LeafRef x = lab.leaf({1}, {0.5});
  Value y = sin(*lab.tape, x);
  lab.tape->backward(y, true);
  lab.tape->backward(y);
  EXPECT_DOUBLE_EQ(Lab::gradient(x)[0], 2 * std::cos(0.5));
}

TEST(Tape, LiveBytesReturnToTheirLevelAfterBackward) {
  Lab lab;
  LeafRef x = lab.leaf({64}, std::vector<double>(64, 0.1));
  x->grad = make_tensor(lab.memory.allocator(), lab.memory.observer(), DType::f64, {64}, Category::gradients);
  Tensor b = lab.state({64}, std::vector<double>(64, 2.0));
  lab.tape->constant(3.0, DType::f64);
  std::int64_t level = lab.memory.meter().live();
  {
    Value h = mul(*lab.tape, sin(*lab.tape, mul(*lab.tape, x, b)), 3.0);
    assign(*lab.tape, b, 3.0);
    lab.tape->backward(h);
  }
  EXPECT_EQ(lab.memory.meter().live(), level);
  EXPECT_EQ(lab.memory.preserver().live().reads, 0);
}

TEST(Tape, NoGradRecordsNothingToKeep) {
  Lab lab;
  LeafRef x = lab.leaf({1}, {0.5});
  Tape::NoGrad no_grad(*lab.tape);
  EXPECT_FALSE(sin(*lab.tape, x).requires_grad());
}

TEST(Tape, LeafHooksRunOnceAfterTheGradientIsComplete) {
  Lab lab;
  LeafRef w = lab.leaf({1}, {2.0});
  std::vector<double> seen;
  w->hooks.push_back([&](Leaf& leaf) { seen.push_back(leaf.grad.to_doubles()[0]); });
  lab.tape->backward(mul(*lab.tape, mul(*lab.tape, w, w), w));
  EXPECT_EQ(seen, (std::vector<double>{12.0}));
}

TEST(Tape, ShapeErrorLeavesTheTapeAsItWas) {
  Lab lab;
  LeafRef x = lab.leaf({2}, {1, 2});
  Value h = sin(*lab.tape, x);
  std::size_t nodes = lab.tape->data().nodes.size();
  std::int64_t live = lab.memory.meter().live();
  testing::expect_error(ErrorKind::user, {"expected shapes that broadcast"}, [&] {
    add(*lab.tape, h, lab.state({3}, {1, 2, 3}));
  });
  EXPECT_EQ(lab.tape->data().nodes.size(), nodes);
  EXPECT_EQ(lab.memory.meter().live(), live);
  lab.tape->backward(h);
  EXPECT_DOUBLE_EQ(Lab::gradient(x)[0], std::cos(1.0));
}

TEST(Tape, ClearedTapeEmptiesHandles) {
  Lab lab;
  Value y = sin(*lab.tape, lab.leaf({1}, {0.5}));
  lab.tape->clear();
  testing::expect_error(ErrorKind::user, {"one whose tape was cleared"}, [&] { y.shape(); });
}

/// Asks for a replay of every segment.
class ReplayAll final : public SegmentPolicy {
 public:
  SegmentOption choose(const char*, std::uint32_t) override { return {ValueOption::replay, StateOption::whole}; }
};

TEST(Tape, ASegmentThatCouldNotBeginLeavesTheTapeAsItWas) {
  Lab lab;
  LeafRef x = lab.leaf({1}, {0.5});
  ReplayAll policy;
  lab.tape->set_policy(&policy);
  lab.tape->set_replayer(nullptr);
  testing::expect_error(ErrorKind::user, {"expected a replayer"},
                        [&] { segment(*lab.tape, "a", [&] { return sin(*lab.tape, x); }); });
  lab.tape->set_replayer(&lab.replayer);
  Value y = segment(*lab.tape, "b", [&] { return sin(*lab.tape, x); });
  EXPECT_EQ(lab.tape->data().segments.size(), 1u);
  lab.tape->backward(y);
  EXPECT_DOUBLE_EQ(Lab::gradient(x)[0], std::cos(0.5));
}

/// Cannot say what a segment's kernels depend on when it ends.
class LosesSight final : public Replayer {
 public:
  void note_context(Tape&, std::uint32_t) override {
    if (++calls_ % 2 == 0) fail(ErrorKind::user, "[test] expected the surroundings, got none");
  }
  void replay(Tape&, std::uint32_t) override {}
  void restore_run(Tape&, std::uint32_t) override {}

 private:
  int calls_ = 0;
};

TEST(Tape, ASegmentThatCouldNotEndIsOneWhoseBodyThrew) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({1}, {0.5});
  ReplayAll policy;
  LosesSight replayer;
  t.set_policy(&policy);
  t.set_replayer(&replayer);
  Value outside = sin(t, x);
  testing::expect_error(ErrorKind::user, {"expected the surroundings"}, [&] {
    segment(t, "a", [&] {
      mul_into(t, outside, 2.0);  // stands for a value of the segment from here on
      return cos(t, outside);
    });
  });
  EXPECT_TRUE(t.data().segment_stack.empty());
  testing::expect_error(ErrorKind::user, {"belongs to a segment whose body threw"}, [&] { t.backward(outside); });
  t.set_policy(nullptr);
  Value y = segment(t, "b", [&] { return sin(t, x); });
  t.backward(y);
  EXPECT_DOUBLE_EQ(Lab::gradient(x)[0], std::cos(0.5));
}

}  // namespace
}  // namespace reprise
