// What a lying contract could hide from guard mode: writes of what is there already, refusals of poisoned bytes by
// other exceptions, gradients of leaves, bytes beside those that were saved, numbers drawn in a replay alone. And what
// is honest: single bytes that look like the guard's own pattern.
#include <gtest/gtest.h>

#include <stdexcept>

#include "lying_ops.h"
#include "ops/arithmetic.h"
#include "ops/registry.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using lying::hidden;
using testing::expect_error;

class GuardHiddenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    register_builtin_ops();
    hidden = {};
    x = Leaf::create("x", tensor({1, 2, 3, 4}), tensor({5, 6, 7, 8}));
    queue = tensor({10, 20, 30, 40});
    queue.storage().set_name("queue");
    tape.watch(queue.storage_ref());
    hidden.data = queue.view().as<float>();
  }

  Tensor tensor(std::vector<double> values) {
    Tensor made = make_tensor(memory.allocator(), memory.observer(), DType::f32,
                              {static_cast<std::int64_t>(values.size())}, Category::state);
    made.assign_doubles(values);
    return made;
  }
  void expect_backward_error(const Op& op, std::initializer_list<Arg> operands,
                             std::initializer_list<std::string> words) {
    Value y = tape.apply_one(op, operands);
    expect_error(ErrorKind::internal, words, [&] { tape.backward(y); });
  }

  Memory memory;
  Tape tape{memory, {.guard = true}};
  LeafRef x;
  Tensor queue;
};

const Op kWritesTheSame = lying::with_forward("writes_the_same", [](ForwardContext& c) {
  lying::honest_forward(c);
  hidden.data[2] = 30;
});
const Op kFormulaWritesTheSame = lying::with_backward("formula_writes_the_same", [](BackwardContext& c) {
  lying::honest_backward(c);
  hidden.data[2] = 30;
});

TEST_F(GuardHiddenTest, AWriteOfWhatIsThereAlreadyIsAWrite) {
  expect_error(ErrorKind::internal, {"[writes_the_same] writes bytes [8, 12) of storage 'queue'", ".updates"},
               [&] { tape.apply_one(kWritesTheSame, {x}); });
  expect_backward_error(kFormulaWritesTheSame, {x},
                        {"[formula_writes_the_same] its backward writes bytes [8, 12) of storage 'queue'"});
  EXPECT_EQ(queue.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

const Op kRefusesNaN = lying::with_forward("refuses_nan", [](ForwardContext& c) {
  lying::honest_forward(c);
  if (hidden.data[1] != hidden.data[1]) throw std::out_of_range("not a number");
});

TEST_F(GuardHiddenTest, AnExceptionOfItsOwnOnPoisonedBytesTellsAReadToo) {
  expect_error(ErrorKind::internal, {"[refuses_nan] reads storage 'queue'", ".inputs"},
               [&] { tape.apply_one(kRefusesNaN, {x}); });
  EXPECT_EQ(queue.to_doubles(), (std::vector<double>{10, 20, 30, 40}));
}

const Op kFormulaAddsElsewhere = lying::with_backward("formula_adds_elsewhere", [](BackwardContext& c) {
  lying::honest_backward(c);
  hidden.data[3] += 1;
});

/// Writes the leaf's own gradient, which counts as zero.
const Op kFillsTheGradient = [] {
  Op op = lying::op_named("fills_the_gradient");
  op.accumulates = true;
  return op;
}();

TEST_F(GuardHiddenTest, TheGradientOfALeafIsNobodysToWrite) {
  LeafRef other = Leaf::create("other", tensor({1, 1, 1, 1}), tensor({5, 6, 7, 8}));
  mul(tape, other, 2.0);
  hidden.data = other->grad.view().as<float>();
  expect_backward_error(kFormulaAddsElsewhere, {x}, {"[formula_adds_elsewhere]", "bytes [12, 16)", "grad(i)"});
  EXPECT_EQ(other->grad.to_doubles(), (std::vector<double>{5, 6, 7, 8}));
  tape.clear();
  tape.backward(tape.apply_one(kFillsTheGradient, {x}));
  EXPECT_EQ(x->grad.to_doubles(), (std::vector<double>{2, 2, 2, 2}));
}

/// y = x t[0], and a gradient that looks at another element of t: one that .region does not give.
const Op kFormulaReadsBesideRegion = [] {
  Op op = lying::op_named("formula_reads_beside_region");
  op.inputs = {"x", "t"};
  op.saves = {{"x", {in("t")}}};
  op.forward = [](ForwardContext& c) {
    lying::doubled(c.in(0), c.out(0), [&](std::int64_t, auto y) { return y / 2 * c.in(1).as<decltype(y)>()[0]; });
  };
  op.backward = [](BackwardContext& c) {
    lying::doubled(c.grad_out(0), c.grad(0),
                   [&](std::int64_t, auto g) { return g / 2 * c.in(1).as<decltype(g)>()[hidden.calls]; });
  };
  op.region = [](const RegionContext& c, int index) {
    std::int64_t item = size_of(c.operand(index).dtype());
    return index == 0 ? c.operand(index).region() : Region::span(0, item);
  };
  return op;
}();

TEST_F(GuardHiddenTest, AFormulaMayReadTheRegionThatIsKeptAndNoMore) {
  hidden.calls = 1;
  expect_backward_error(kFormulaReadsBesideRegion, {x, queue},
                        {"[formula_reads_beside_region]", "input t", "not kept", ".region"});
  tape.clear();
  hidden.calls = 0;
  EXPECT_NO_THROW(tape.backward(tape.apply_one(kFormulaReadsBesideRegion, {x, queue})));
}

TEST_F(GuardHiddenTest, AFormulaMayReadAValueWithinItsView) {
  Value pair = copy(tape, queue);
  Value first = slice(tape, pair, 0, 0, 2);
  hidden.calls = 3;
  expect_backward_error(kFormulaReadsBesideRegion, {x, first}, {"input t", "not kept", "outside its view"});
  tape.clear();
}

/// A counter's number, which a replay draws anew.
const Op kDrawsInAReplay = [] {
  Op op{.name = "draws_in_a_replay",
        .inputs = {},
        .updates = {"to"},
        .outputs = {"y"},
        .outputs_ignore_updates = true,
        .infer = [](InferContext& c) { c.result(0, c.dtype(0), c.shape(0)); },
        .forward =
            [](ForwardContext& c) {
              c.out(0).as<float>()[0] = 1;
              if (c.writes(0)) c.update(0).as<float>()[0] += 1;
              if (c.replay) hidden.stream->take(3);
            }};
  return op;
}();

TEST_F(GuardHiddenTest, NumbersDrawnInAReplayAloneAreSeenAndPutBack) {
  Stream stream{"dropout", 1, 2, 30};
  tape.watch(stream);
  hidden.stream = &stream;
  Tensor counter = tensor({3});
  expect_error(ErrorKind::internal, {"[draws_in_a_replay] takes 3 numbers of stream 'dropout'"},
               [&] { tape.apply_one(kDrawsInAReplay, {counter}); });
  EXPECT_EQ(stream.position, 30u);
  EXPECT_EQ(counter.to_doubles(), std::vector<double>{3});
}

/// Bytes of which one is the guard's own pattern; with `hidden.calls` the last is left out.
const Op kBytes = [] {
  Op op{.name = "bytes",
        .inputs = {"x"},
        .outputs = {"y"},
        .infer = [](InferContext& c) { c.result(0, DType::u8, c.shape(0)); },
        .forward =
            [](ForwardContext& c) {
              std::int64_t count = c.out(0).size() - hidden.calls;
              for (std::int64_t i = 0; i < count; ++i) c.out(0).as<std::uint8_t>()[i] = i % 2 ? 0xe5 : 0xda;
            }};
  return op;
}();

TEST_F(GuardHiddenTest, AByteMayBeWhatMemoryWasFilledWith) {
  EXPECT_NO_THROW(tape.apply_one(kBytes, {x}));
  hidden.calls = 1;
  expect_error(ErrorKind::internal, {"[bytes] leaves bytes [3, 4) of result y unwritten"},
               [&] { tape.apply_one(kBytes, {x}); });
}

}  // namespace
}  // namespace reprise
