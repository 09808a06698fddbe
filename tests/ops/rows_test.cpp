#include "ops/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/cast.h"
#include "ops/queue.h"
#include "ops/row_average.h"
#include "ops/row_state.h"
#include "ops/shape_ops.h"
#include "ops/softmax.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;
using testing::user_error;
using Numbers = std::vector<double>;

Numbers numbers(const Value& value) { return value.tensor().to_doubles(); }

// A view of every second row and column of a matrix [4, 4] of 0..15: [[0, 2], [8, 10]].
Tensor checkered(Lab& lab) {
  Numbers all;
  for (int i = 0; i < 16; ++i) all.push_back(i);
  return lab.state({4, 4}, all).with_view({2, 2}, {8, 2}, 0);
}

TEST(GatherRows, NamesTheIndexThatLiesOutside) {
  Lab lab;
  Tensor table = lab.state({3, 1}, {1, 2, 3});
  std::string text = user_error([&] { gather_rows(*lab.tape, table, lab.indices({0, 2, 3})); });
  for (const char* part : {"[gather_rows]", "got 3", "position 2", "3 rows"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_NE(user_error([&] { gather_rows(*lab.tape, table, lab.indices({-1})); }), "");
  EXPECT_EQ(numbers(gather_rows(*lab.tape, table, lab.indices({-1, 4}), true)), (Numbers{3, 2}));
}

TEST(GatherRows, ReadsStridedTables) {
  Lab lab;
  EXPECT_EQ(numbers(gather_rows(*lab.tape, checkered(lab), lab.indices({1, 0, 1}))), (Numbers{8, 10, 0, 2, 8, 10}));
}

TEST(GatherRows, RepeatedRowsAddUpInTheGradientAndOverExistingOnes) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef table = lab.leaf({3, 2}, {1, 2, 3, 4, 5, 6});
  for (int pass = 1; pass <= 2; ++pass) {
    t.backward(gather_rows(t, table, lab.indices({2, 0, 2})));
    EXPECT_EQ(Lab::gradient(table), (Numbers{1.0 * pass, 1.0 * pass, 0, 0, 2.0 * pass, 2.0 * pass}));
  }
}

TEST(GatherRows, Bf16TablesHaveAGradient) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef table = lab.leaf({3, 2}, {1, 2, 3, 4, 5, 6});
  Value rows = gather_rows(t, cast(t, table, DType::bf16), lab.indices({2, 0, 2}));
  t.backward(cast(t, rows, DType::f64));
  EXPECT_EQ(Lab::gradient(table), (Numbers{1, 1, 0, 0, 2, 2}));
}

TEST(GatherRows, TooManyAxesAreRefusedByName) {
  Lab lab;
  Tensor table = lab.state({1, 1, 1, 1, 1, 1}, {1});
  Value index = reshape(*lab.tape, lab.indices({0}), {1, 1});
  EXPECT_NE(user_error([&] { gather_rows(*lab.tape, table, index); }).find("[gather_rows] expected indices and rows"),
            std::string::npos);
  EXPECT_NE(user_error([&] { assign_rows(*lab.tape, table, index, 1.0); }).find("[assign_rows]"), std::string::npos);
  EXPECT_NE(user_error([&] { ema_rows(*lab.tape, table, index, 1.0, 0.5); }).find("[ema_rows]"), std::string::npos);
}

TEST(RowWrites, Bf16ValuesThatAreBroadcastGetTheirGradientSummed) {
  for (bool by_rows : {false, true}) {
    for (bool last : {false, true}) {  // summed over the last axis, or over the first
      Lab lab;
      Tape& t = *lab.tape;
      LeafRef x = last ? lab.leaf({3, 1}, {1, 2, 3}) : lab.leaf({1, 4}, {1, 2, 3, 4});
      Value to = cast(t, lab.leaf({3, 4}, Numbers(12)), DType::bf16), value = cast(t, x, DType::bf16);
      by_rows ? assign_rows(t, to, lab.indices({2, 0, 1}), value) : assign(t, to, value);
      t.backward(cast(t, to, DType::f64));
      EXPECT_EQ(Lab::gradient(x), last ? Numbers(3, 4.0) : Numbers(4, 3.0));
    }
  }
}

TEST(RowWrites, ChangeNothingWhenAnIndexIsBad) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor to = lab.state({3}, {1, 2, 3});
  EXPECT_NE(user_error([&] { assign_rows(t, to, lab.indices({0, 3}), 9.0); }).find("got 3"), std::string::npos);
  EXPECT_NE(user_error([&] { add_rows(t, to, lab.indices({1, 1}), 9.0); }).find("row 1 twice"), std::string::npos);
  EXPECT_NE(user_error([&] {
              mul_rows(t, to, lab.indices({1, 4}), 9.0, true);
            }).find("row 1 twice"),
            std::string::npos);
  EXPECT_EQ(to.to_doubles(), (Numbers{1, 2, 3}));
}

TEST(RowWrites, GoThroughTheStridesOfTheirTarget) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor view = checkered(lab);
  assign_rows(t, view, lab.indices({1}), lab.state({1, 2}, {-1, -2}));
  add_rows(t, view, lab.indices({0, 1}), lab.state({2, 1}, {100, 200}));
  Numbers want;
  for (int i = 0; i < 16; ++i) want.push_back(i);
  want[0] = 100, want[2] = 102, want[8] = 199, want[10] = 198;
  EXPECT_EQ(view.with_view({16}, {1}, 0).to_doubles(), want);
}

TEST(RowWrites, AMatrixOfIndicesTakesAMatrixOfRows) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor to = lab.state({4, 2}, Numbers(8));
  Value rows = reshape(t, lab.indices({3, 1, 0, 2}), {2, 2});
  assign_rows(t, to, rows, lab.state({2, 1, 1}, {5, 6}));
  EXPECT_EQ(to.to_doubles(), (Numbers{6, 6, 5, 5, 6, 6, 5, 5}));
}

TEST(Assign, ReadsAnOverlappingSourceBeforeItWrites) {
  Lab lab;
  Tensor x = lab.state({5}, {1, 2, 3, 4, 5});
  assign(*lab.tape, x.with_view({4}, {1}, 1), x.with_view({4}, {1}, 0));
  EXPECT_EQ(x.to_doubles(), (Numbers{1, 1, 2, 3, 4}));
}

TEST(Assign, CastsTheValueToItsTarget) {
  Lab lab;
  Tensor counts = lab.indices({1, 2});
  assign(*lab.tape, counts, lab.state({2}, {3.7, -3.7}));
  EXPECT_EQ(counts.to_doubles(), (Numbers{3, -3}));
  add_into(*lab.tape, counts, 2.0);
  EXPECT_EQ(counts.to_doubles(), (Numbers{5, -1}));
  EXPECT_NE(user_error([&] { assign(*lab.tape, counts, lab.indices({1, 2, 3})); }).find("[assign]"), std::string::npos);
}

// Numbers that an integer has no place for: as cast has it, and not what C++ leaves undefined.
TEST(Assign, ANumberBeyondAnIntegerTypeBecomesItsEnd) {
  Lab lab;
  Tape& t = *lab.tape;
  auto after = [&](DType dtype, double number) {
    Tensor to = make_tensor(lab.memory.allocator(), lab.memory.observer(), dtype, {1}, Category::state, true);
    assign(t, to, number);
    return to;
  };
  EXPECT_EQ(after(DType::i32, 1e12).host_read<std::int32_t>()[0], std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(after(DType::i32, -1e12).host_read<std::int32_t>()[0], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(after(DType::i32, 2147483647.5).host_read<std::int32_t>()[0], std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(after(DType::i64, 1e19).host_read<std::int64_t>()[0], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(after(DType::i64, -HUGE_VAL).host_read<std::int64_t>()[0], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(after(DType::i64, std::nan("")).host_read<std::int64_t>()[0], 0);
  EXPECT_EQ(after(DType::u8, 300).host_read<std::uint8_t>()[0], 255);
  EXPECT_EQ(after(DType::u8, -1).host_read<std::uint8_t>()[0], 0);
  EXPECT_EQ(after(DType::u8, 255.9).host_read<std::uint8_t>()[0], 255);
  EXPECT_EQ(after(DType::boolean, 2.5).to_doubles(), Numbers{1});
}

TEST(Assign, WriteSpanTouchesItsSpanOnly) {
  Lab lab;
  Tensor x = lab.state({2, 3}, {1, 2, 3, 4, 5, 6});
  write_span(*lab.tape, x, 2, 5, lab.state({3}, {7, 8, 9}));
  EXPECT_EQ(x.to_doubles(), (Numbers{1, 2, 7, 8, 9, 6}));
  EXPECT_NE(user_error([&] { write_span(*lab.tape, x, 4, 7, 0.0); }).find("[write_span]"), std::string::npos);
}

TEST(CounterAdd, GoesRoundAtItsModulo) {
  Lab lab;
  Tensor counter = lab.indices({6});
  counter_add(*lab.tape, counter, 5, 8);
  EXPECT_EQ(counter.to_doubles(), Numbers{3});
  counter_add(*lab.tape, counter, -5, 8);
  EXPECT_EQ(counter.to_doubles(), Numbers{6});
  counter_add(*lab.tape, counter, 5);
  EXPECT_EQ(counter.to_doubles(), Numbers{11});
}

TEST(Queue, TheRingGoesRoundAndTellsWhereItStands) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor queue = lab.state({5}, {0, 1, 2, 3, 4});
  std::int64_t position = enqueue_ring(t, queue, lab.state({3}, {10, 11, 12}), 3);
  EXPECT_EQ(position, 1);
  EXPECT_EQ(queue.to_doubles(), (Numbers{12, 1, 2, 10, 11}));
  EXPECT_NE(user_error([&] { enqueue_ring(t, queue, lab.state({6}, Numbers(6)), 0); }), "");
  EXPECT_NE(user_error([&] { enqueue_ring(t, queue, lab.state({1}, {0}), 5); }), "");
}

TEST(Queue, TheShiftMovesEveryRowOnce) {
  for (std::int64_t n : {1, 2, 3, 5, 7}) {
    Lab lab;
    Numbers rows, keys;
    for (int i = 0; i < 7; ++i) rows.push_back(i);
    for (int i = 0; i < n; ++i) keys.push_back(100 + i);
    Tensor front = lab.state({7}, rows), back = lab.state({7}, rows);
    enqueue_shift(*lab.tape, front, lab.state({n}, keys));
    enqueue_shift(*lab.tape, back, lab.state({n}, keys), true);
    Numbers want_front = keys, want_back(rows.begin() + n, rows.end());
    want_front.insert(want_front.end(), rows.begin(), rows.end() - n);
    want_back.insert(want_back.end(), keys.begin(), keys.end());
    EXPECT_EQ(front.to_doubles(), want_front);
    EXPECT_EQ(back.to_doubles(), want_back);
  }
}

TEST(Slice, CountsAsPythonDoes) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor x = lab.state({6}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(numbers(slice(t, x, 0, 1, 100, 2)), (Numbers{1, 3, 5}));
  EXPECT_EQ(numbers(slice(t, x, 0, -2, 6)), (Numbers{4, 5}));
  EXPECT_EQ(numbers(slice(t, x, -1, 4, 2)), Numbers{});
  EXPECT_NE(user_error([&] { slice(t, x, 0, 0, 6, 0); }).find("[slice]"), std::string::npos);
  std::int64_t far = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(numbers(slice(t, x, 0, 2, far, far)), Numbers{2});
  LeafRef leaf = lab.leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  t.backward(slice(t, leaf, 1, 1, far, far));
  EXPECT_EQ(Lab::gradient(leaf), (Numbers{0, 1, 0, 0, 1, 0}));
}

TEST(Slice, OverlappingSlicesAddUpTheirGradients) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  Value y = neg(t, neg(t, x));
  t.backward(std::vector<Value>{slice(t, y, 1, 0, 2), slice(t, y, 1, 1, 3), slice(t, y, 0, 1, 2)});
  EXPECT_EQ(Lab::gradient(x), (Numbers{1, 2, 1, 2, 3, 2}));
}

TEST(Reshape, InfersOneExtentAndRefusesOtherCounts) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor x = lab.state({2, 6}, Numbers(12));
  EXPECT_EQ(reshape(t, x, {3, -1}).shape(), (Shape{3, 4}));
  EXPECT_NE(user_error([&] { reshape(t, x, {5, -1}); }).find("[reshape]"), std::string::npos);
  EXPECT_NE(user_error([&] { reshape(t, x, {-1, -1}); }).find("[reshape]"), std::string::npos);
  std::int64_t large = std::int64_t{1} << 32;
  EXPECT_NE(user_error([&] { reshape(t, x, {large, large, 12, -1}); }).find("[reshape]"), std::string::npos);
  EXPECT_EQ(numbers(reshape(t, transpose(t, lab.state({2, 2}, {1, 2, 3, 4})), {4})), (Numbers{1, 3, 2, 4}));
}

TEST(Concat, RefusesShapesThatDifferElsewhere) {
  Lab lab;
  Arg parts[] = {lab.state({2, 2}, Numbers(4)), lab.state({3, 1}, Numbers(3))};
  EXPECT_NE(user_error([&] { concat(*lab.tape, parts, 0); }).find("[2, 2] and [3, 1]"), std::string::npos);
}

TEST(Softmax, LargeAndInfiniteInputsStayFinite) {
  for (DType dtype : {DType::f32, DType::f64}) {
    Lab lab(Method::retain, dtype);
    Tape& t = *lab.tape;
    double inf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(numbers(softmax(t, lab.state({3}, {1e4, 1e4, -inf}))), (Numbers{0.5, 0.5, 0}));
    EXPECT_NEAR(numbers(logsumexp(t, lab.state({2}, {-1e4, -1e4})))[0], -1e4 + std::log(2.0), 1e-3);
    EXPECT_EQ(numbers(logsumexp(t, lab.state({2}, {-inf, -inf})))[0], -inf);
    EXPECT_EQ(numbers(logsumexp(t, lab.state({3}, {0, inf, -inf})))[0], inf);
    EXPECT_TRUE(std::isnan(numbers(logsumexp(t, lab.state({2}, {inf, std::nan("")})))[0]));
    EXPECT_EQ(numbers(logsumexp(t, lab.state({2, 0}, {}))), (Numbers{-inf, -inf}));
    EXPECT_NEAR(numbers(log_softmax(t, lab.state({2, 1}, {0, 1e4}), 0))[0], -1e4, 1e-3);
  }
}

}  // namespace
}  // namespace reprise
