// Guard mode catches ops whose contracts lie, says what to declare, and leaves states as they were.
#include "autograd/guard.h"

#include <gtest/gtest.h>

#include "lying_ops.h"
#include "ops/arithmetic.h"
#include "ops/batch_norm.h"
#include "ops/registry.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

class GuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    register_builtin_ops();
    lying::hidden = {};
    x = Leaf::create("x", tensor({1, 2, 3, 4}));
    queue = tensor({10, 20, 30, 40});
    queue.storage().set_name("queue");
    tape.watch(queue.storage_ref());
  }

  Tensor tensor(std::vector<double> values) {
    Tensor made = make_tensor(memory.allocator(), memory.observer(), DType::f32,
                              {static_cast<std::int64_t>(values.size())}, Category::state);
    made.assign_doubles(values);
    return made;
  }

  void expose_queue() { lying::hidden.data = reinterpret_cast<float*>(queue.storage().raw()); }

  /// The text of the internal error that `body` must throw.
  template <class Body>
  static std::string error_of(const Body& body) {
    return testing::error_of_kind(ErrorKind::internal, body);
  }
  std::string forward_error(const Op& op) {
    return error_of([&] { tape.apply_one(op, {x}); });
  }
  std::string backward_error(const Op& op) {
    Value y = tape.apply_one(op, {x});
    return error_of([&] { tape.backward(y); });
  }

  static void expect_says(const std::string& text, std::vector<std::string> parts) {
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
  }

  Memory memory;
  Tape tape{memory, {.guard = true}};
  LeafRef x;
  Tensor queue;
};

TEST_F(GuardTest, AnHonestOpPassesAndGivesTheSameBytes) {
  expose_queue();
  Value y = tape.apply_one(lying::kHonest, {x});
  EXPECT_EQ(y.tensor().to_doubles(), (std::vector<double>{2, 4, 6, 8}));
  tape.backward(y);
  EXPECT_EQ(x->grad.to_doubles(), (std::vector<double>{2, 2, 2, 2}));
  EXPECT_EQ(x->data.to_doubles(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(queue.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

TEST_F(GuardTest, AWriteToAnInputNamesTheBytesAndIsUndone) {
  expect_says(forward_error(lying::kWritesInput), {"[writes_input]", "bytes [4, 8)", "input x", "Add it to .updates"});
  EXPECT_EQ(x->data.to_doubles(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(tape.data().nodes.size(), 0u);
}

TEST_F(GuardTest, AWriteToAStorageThatIsNoOperandNamesIt) {
  expose_queue();
  expect_says(forward_error(lying::kWritesHidden), {"[writes_hidden]", "bytes [8, 12)", "storage 'queue'", ".updates"});
  EXPECT_EQ(queue.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

TEST_F(GuardTest, AReadOfAStorageThatIsNoOperandNamesIt) {
  expose_queue();
  expect_says(forward_error(lying::kReadsHidden), {"[reads_hidden]", "reads storage 'queue'", ".inputs"});
  EXPECT_EQ(queue.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

TEST_F(GuardTest, StatesThatEarlierOpsWereGivenAreWatchedToo) {
  Tensor other = tensor({5, 6});
  tape.apply_one(kCopy, {other});
  lying::hidden.data = reinterpret_cast<float*>(other.storage().raw());
  expect_says(forward_error(lying::kReadsHidden), {"[reads_hidden]", "unnamed storage of 8 bytes"});
}

TEST_F(GuardTest, WhatIsWatchedStaysAsItWasWhereNoOpMayWriteIt) {
  Tensor counter = tensor({1, 2, 3, 4});
  tape.watch(counter.storage_ref());
  tape.apply_one(lying::kHonest, {x});
  add_into(tape, counter, 1.0);
  Value y = mul(tape, x, queue);
  tape.backward(y);
  EXPECT_EQ(queue.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
  EXPECT_EQ(counter.to_doubles(), (std::vector<double>{2, 3, 4, 5}));
}

TEST_F(GuardTest, WatchingEndsWithTheStep) {
  tape.clear();
  EXPECT_TRUE(tape.guard()->watched().empty());
  expose_queue();
  EXPECT_NO_THROW(tape.apply_one(lying::kWritesHidden, {x}));  // so a trainer names its states again each step
}

TEST_F(GuardTest, ADrawBesideTheContractNamesTheStreamAndIsPutBack) {
  Stream stream{"dropout", 1, 2, 30};
  tape.watch(stream);
  lying::hidden.stream = &stream;
  expect_says(forward_error(lying::kTakesNumbers), {"[takes_numbers]", "3 numbers of stream 'dropout'", ".draws"});
  EXPECT_EQ(stream.position, 30u);
}

TEST_F(GuardTest, AnOpThatDoesNotRepeatItselfMustSaySo) {
  expect_says(forward_error(lying::kNeverTheSame), {"[never_the_same]", ".draws", ".nondeterministic"});
  Op declared = lying::kNeverTheSame;
  declared.resolved = nullptr;
  declared.nondeterministic = true;
  EXPECT_NO_THROW(tape.apply_one(declared, {x}));
}

TEST_F(GuardTest, AResultLeftUnwrittenIsFound) {
  expect_says(forward_error(lying::kLeavesOneOut), {"[leaves_one_out]", "bytes [12, 16) of result y unwritten"});
}

TEST_F(GuardTest, WritesBeyondTheDeclaredRegionAreFound) {
  expect_says(error_of([&] { tape.apply_none(lying::kRegionTooSmall, {queue}); }),
              {"[region_too_small]", "bytes [8, 12) of update to", ".region"});
  EXPECT_EQ(queue.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

TEST_F(GuardTest, ReadsBeyondTheDeclaredRegionAreFound) {
  expect_says(forward_error(lying::kReadsBeyondRegion),
              {"[reads_beyond_region]", "input x", "outside the region", ".region"});
}

TEST_F(GuardTest, OutputsThatDoNotIgnoreUpdatesAreFound) {
  Tensor counter = tensor({3});
  expect_says(error_of([&] { tape.apply_one(lying::kOutputFromUpdate, {counter}); }),
              {"[output_from_update]", "outputs_ignore_updates"});
  EXPECT_EQ(counter.to_doubles(), std::vector<double>{3});
}

TEST_F(GuardTest, ASaveTooFewNamesTheOperand) {
  expect_says(backward_error(lying::kSavesTooFew), {"[saves_too_few]", "operand 0", ".saves"});
}

TEST_F(GuardTest, AGradientNotFilledNamesItsBytes) {
  expect_says(backward_error(lying::kGradientNotFilled),
              {"[gradient_not_filled]", "bytes [0, 4) of the gradient of input x", "grad(i)"});
}

TEST_F(GuardTest, ABackwardThatWritesElsewhereIsFoundAndUndone) {
  expose_queue();
  expect_says(backward_error(lying::kBackwardWritesHidden),
              {"[backward_writes_hidden]", "bytes [0, 4)", "storage 'queue'"});
  EXPECT_EQ(queue.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

TEST_F(GuardTest, ABackwardThatReadsElsewhereIsFound) {
  expose_queue();
  expect_says(backward_error(lying::kBackwardReadsHidden), {"[backward_reads_hidden]", "storage 'queue'", ".saves"});
}

TEST_F(GuardTest, WithoutGuardNothingIsRunTwice) {
  Tape plain(memory);
  lying::hidden.calls = 0;
  plain.apply_one(lying::kNeverTheSame, {x});
  EXPECT_EQ(lying::hidden.calls, 1);
  EXPECT_EQ(plain.guard(), nullptr);
}

TEST_F(GuardTest, HoldsNoStorageThatTheProgramHasLetGo) {
  Tensor other = tensor({5, 6});
  tape.watch(other.storage_ref());
  std::size_t watched = tape.guard()->watched().size();
  other = Tensor();
  tape.apply_one(lying::kHonest, {x});
  EXPECT_EQ(tape.guard()->watched().size(), watched);  // one let go of, x added
}

// ---- what is honest and looks odd

TEST_F(GuardTest, AFormulaMayReadAViewThatRunsBackwards) {
  Tensor reversed = queue.with_view({4}, {-1}, 3);
  Value y = mul(tape, x, reversed);
  tape.backward(y);
  EXPECT_EQ(x->grad.to_doubles(), (std::vector<double>{40, 30, 20, 10}));
}

/// Its result lies in the memory of the packed copy of the view, beside which it writes its statistics.
TEST_F(GuardTest, AnOpWithUpdatesMayTakeOverTheMemoryOfAnInput) {
  Tensor table = tensor({1, 2, 9, 4, 5, 9, 7, 6, 9});
  Tensor column = table.with_view({3, 2}, {3, 1}, 0);
  Tensor one = tensor({1, 1}), zero = tensor({0, 0}), mean = tensor({0, 0}), variance = tensor({1, 1});
  EXPECT_NO_THROW(batch_norm(tape, column, one, zero, mean, variance));
}

// ---- values that somebody writes past every door

TEST_F(GuardTest, AValueWrittenPastTheDoorsIsSeenByTheFormulaThatReadsIt) {
  Value factor = tape.apply_one(kCopy, {queue});
  Value y = mul(tape, x, factor);
  factor.tensor().view().as<float>()[2] = 7;
  try {
    tape.backward(y);
    FAIL() << "nobody has seen it";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::replay);
    expect_says(error.what(), {"[mul] expected operand b", "(outside)", "a value", "bytes [0, 16)", "version 0",
                               "without passing a door"});
  }
}

TEST_F(GuardTest, AValueWrittenInOrderIsShownAsItWas) {
  Value factor = tape.apply_one(kCopy, {queue});
  Value y = mul(tape, x, factor);
  mul_into(tape, factor, 2.0);
  tape.backward(y);
  EXPECT_EQ(x->grad.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

TEST_F(GuardTest, AValueThatNobodyReadsAgainMayBeWrittenByAnybody) {
  Value term = tape.apply_one(kCopy, {queue});
  Value y = add(tape, x, term);
  term.tensor().view().as<float>()[2] = 7;
  tape.backward(y);
  EXPECT_EQ(x->grad.to_doubles(), (std::vector<double>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace reprise
