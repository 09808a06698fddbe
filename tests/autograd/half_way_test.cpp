// Formulas that throw half-way. Called again, the backward completes with every contribution once, whatever memory the
// formula would have been given; an op that breaks its promise to fail first is refused instead of counted twice.
#include <gtest/gtest.h>

#include "lying_ops.h"
#include "ops/arithmetic.h"
#include "ops/registry.h"
#include "ops/unary.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

struct HalfWay : std::exception {};

int fail_after = -1;  // calls of a formula below until one throws; negative: none does
bool added = false;   // the last formula was given a sum to add to
bool taken = false;   // or the output gradient's memory

void throw_if_due() {
  if (fail_after >= 0 && fail_after-- == 0) throw HalfWay();
}

/// grad(0) (+)= 2 grad_out(0), whose second half is left out where it is due to throw.
void backward_in_halves(BackwardContext& c) {
  const TensorView &from = c.grad_out(0), &to = c.grad(0);
  added = c.accumulates(0);
  taken = to.data == from.data;
  dispatch_float(from.dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < from.size(); ++i) {
      if (2 * i == from.size()) throw_if_due();
      T term = from.as<T>()[i] * 2;
      to.as<T>()[i] = added ? to.as<T>()[i] + term : term;
    }
  });
}

void backward_that_fails_first(BackwardContext& c) {
  throw_if_due();
  backward_in_halves(c);
}

Op halves(bool fails_first, void (*backward)(BackwardContext&)) {
  Op op = lying::op_named("halves");
  op.accumulates = true;
  op.grad_reuse = {{"y", "x"}};
  op.fails_first = fails_first;
  op.backward = backward;
  return op;
}
const Op kModest = halves(false, backward_in_halves);
const Op kHonest = halves(true, backward_that_fails_first);
const Op kBreaksItsPromise = halves(true, backward_in_halves);

class HalfWayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    register_builtin_ops();
    fail_after = -1;
    data_ = make_tensor(memory_.allocator(), memory_.observer(), DType::f32, {4}, Category::parameters);
    data_.assign_doubles(std::vector<double>{1, 2, 3, 4});
    x_ = Leaf::create("x", data_);
  }
  void TearDown() override { fail_after = -1; }

  /// A value that two formulas add to, a leaf that holds a gradient already, and one that takes over memory.
  Value sum_of_values(const Op& op) {
    Value h = mul(tape_, x_, 3.0);
    Value a = tape_.apply_one(op, {h});
    return add(tape_, a, tape_.apply_one(op, {h}));
  }
  Value sum_in_leaf(const Op& op) {
    tape_.backward(mul(tape_, x_, 0.5));
    return tape_.apply_one(op, {x_});
  }
  Value in_place(const Op& op) { return sin(tape_, mul(tape_, tape_.apply_one(op, {mul(tape_, x_, 3.0)}), 0.25)); }

  using Build = Value (HalfWayTest::*)(const Op&);
  static constexpr Build kPrograms[] = {&HalfWayTest::sum_of_values, &HalfWayTest::sum_in_leaf, &HalfWayTest::in_place};

  std::vector<double> gradient_of(Build build, const Op& op, int failure) {
    tape_.clear();
    x_->clear_grad();
    Value root = (this->*build)(op);
    std::int64_t calls = 0;
    fail_after = failure;
    for (bool done = false; !done && calls < 3; ++calls) {
      try {
        tape_.backward(root);
        done = true;
      } catch (const HalfWay&) {
        EXPECT_GE(failure, 0);
      }
    }
    EXPECT_EQ(calls, failure < 0 ? 1 : 2);
    return x_->grad.to_doubles();
  }

  Memory memory_;
  Tape tape_{memory_};
  Tensor data_;
  LeafRef x_;
};

TEST_F(HalfWayTest, CalledAgainEveryContributionCountsOnce) {
  for (const Op* op : {&kModest, &kHonest}) {
    for (Build build : kPrograms) {
      std::vector<double> right = gradient_of(build, *op, -1);
      int formulas = build == kPrograms[0] ? 2 : 1;
      for (int at = 0; at < formulas; ++at) EXPECT_EQ(gradient_of(build, *op, at), right) << at;
    }
  }
}

TEST_F(HalfWayTest, OnlyAnOpThatFailsFirstIsGivenMemoryThatHoldsSomething) {
  for (const Op* op : {&kModest, &kHonest}) {
    for (Build build : {kPrograms[0], kPrograms[1]}) {
      gradient_of(build, *op, -1);
      EXPECT_EQ(added, op == &kHonest);
    }
    gradient_of(kPrograms[2], *op, -1);
    EXPECT_EQ(taken, op == &kHonest);
  }
}

TEST_F(HalfWayTest, AnOpThatDoesNotFailFirstThoughItSaysSoIsRefused) {
  for (Build build : kPrograms) {
    tape_.clear();
    x_->clear_grad();
    Value root = (this->*build)(kBreaksItsPromise);
    fail_after = build == kPrograms[0] ? 1 : 0;
    EXPECT_THROW(tape_.backward(root), HalfWay);
    std::string text = testing::error_of_kind(ErrorKind::internal, [&] { tape_.backward(root); });
    EXPECT_NE(text.find("(halves)"), std::string::npos) << text;
    EXPECT_NE(text.find(".fails_first"), std::string::npos) << text;
    tape_.abandon_backward();
    EXPECT_EQ(memory_.meter().live(Category::cotangents), 0);
  }
  // The leaf that was being added to counts as a part until it is cleared.
  tape_.clear();
  x_->clear_grad();
  Value root = sum_in_leaf(kBreaksItsPromise);
  fail_after = 0;
  EXPECT_THROW(tape_.backward(root), HalfWay);
  tape_.abandon_backward();
  Value again = mul(tape_, x_, 2.0);
  testing::error_of_kind(ErrorKind::user, [&] { tape_.backward(again); });
  x_->clear_grad();
  EXPECT_NO_THROW(tape_.backward(again));
}

TEST_F(HalfWayTest, UnderGuardEvenAPromiseBrokenIsPutBack) {
  Tape guarded(memory_, {.guard = true});
  Value h = mul(guarded, x_, 3.0);
  Value a = guarded.apply_one(kBreaksItsPromise, {h});
  Value root = add(guarded, a, guarded.apply_one(kBreaksItsPromise, {h}));
  fail_after = 2;  // of the first formula two runs, then the second
  EXPECT_THROW(guarded.backward(root), HalfWay);
  guarded.backward(root);
  EXPECT_EQ(x_->grad.to_doubles(), (std::vector<double>{12, 12, 12, 12}));
}

}  // namespace
}  // namespace reprise
