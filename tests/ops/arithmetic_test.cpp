#include "ops/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/unary.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;
using testing::user_error;
using Numbers = std::vector<double>;

Numbers numbers(const Value& value) { return value.tensor().to_doubles(); }

TEST(Arithmetic, IntegersAndWholeNumbersStayIntegers) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor i = lab.indices({7, -7, 3});
  for (const Value& v : {add(t, i, 2.0), sub(t, 1.0, i), mul(t, i, i), mod(t, i, 3.0)})
    EXPECT_EQ(v.dtype(), DType::i64);
  EXPECT_EQ(numbers(mod(t, i, 3.0)), (Numbers{1, 2, 0}));
  EXPECT_EQ(numbers(mod(t, i, -3.0)), (Numbers{-2, -1, 0}));
  EXPECT_EQ(numbers(sub(t, 1.0, i)), (Numbers{-6, 8, -2}));
}

TEST(Arithmetic, IntegersBesideFloatsBecomeThatFloat) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor i = lab.indices({7, -7});
  EXPECT_EQ(numbers(mul(t, i, 0.5)), (Numbers{3.5, -3.5}));
  EXPECT_EQ(mul(t, i, 0.5).dtype(), DType::f64);
  EXPECT_EQ(numbers(add(t, lab.state({2}, {0.25, 0.5}), i)), (Numbers{7.25, -6.5}));
  EXPECT_EQ(numbers(div(t, i, 2.0)), (Numbers{3.5, -3.5}));
  EXPECT_EQ(add(t, 1.0, 2.0).item(), 3.0);
}

TEST(Arithmetic, ShapesThatDoNotBroadcastAreNamed) {
  Lab lab;
  std::string text = user_error([&] { add(*lab.tape, lab.state({2, 3}, Numbers(6)), lab.state({4}, Numbers(4))); });
  EXPECT_NE(text.find("[add]"), std::string::npos) << text;
  EXPECT_NE(text.find("[2, 3] and [4]"), std::string::npos) << text;
}

TEST(Arithmetic, TwoFloatTypesAreRefused) {
  Lab lab;
  Tensor narrow = make_tensor(lab.memory.allocator(), lab.memory.observer(), DType::f32, {2}, Category::state, true);
  EXPECT_NE(user_error([&] { mul(*lab.tape, narrow, lab.state({2}, {1, 2})); }).find("f32 and f64"), std::string::npos);
}

TEST(Arithmetic, AnOperandTwiceGetsBothGradients) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2}, {3, -2});
  Value y = exp(t, mul(t, x, 0.0));  // ones that want a gradient
  t.backward(std::vector<Value>{mul(t, x, x), add(t, x, x), sub(t, x, x), div(t, x, x), mul(t, y, y)});
  EXPECT_EQ(Lab::gradient(x), (Numbers{2 * 3 + 2, -2 * 2 + 2}));
}

TEST(Arithmetic, TheGradientOfADivisorIsRightWhereItsSquareLeavesTheRange) {
  Lab lab(Method::retain, DType::f32);
  Tape& t = *lab.tape;
  LeafRef a = lab.leaf({5}, {1e-20, 1e20, 3, 0, 1}), b = lab.leaf({5}, {1e-20, 1e20, -2, 1e-30, 0});
  t.backward(div(t, a, b));
  Numbers got = Lab::gradient(b);
  EXPECT_NEAR(got[0] / -1e20, 1, 1e-6);
  EXPECT_NEAR(got[1] / -1e-20, 1, 1e-6);
  EXPECT_EQ(got[2], -0.75);
  EXPECT_EQ(got[3], 0);
  EXPECT_EQ(got[4], -std::numeric_limits<double>::infinity());
}

TEST(Arithmetic, OneGradientMayTakeTheArrivingOnesMemory) {
  // Intermediate operands, so that the engine is free to reuse memory; either side may be the one that takes it.
  for (bool swap : {false, true}) {
    Lab lab;
    Tape& t = *lab.tape;
    LeafRef a = lab.leaf({3}, {1, 2, 3}), b = lab.leaf({3}, {4, 5, 6});
    Value p = neg(t, a), q = neg(t, b);
    t.backward(neg(t, swap ? mul(t, q, p) : mul(t, p, q)));
    EXPECT_EQ(Lab::gradient(a), (Numbers{-4, -5, -6}));
    EXPECT_EQ(Lab::gradient(b), (Numbers{-1, -2, -3}));
  }
}

TEST(Where, TakesConditionsOfAnyTypeByZeroOrNot) {
  Lab lab(Method::retain, DType::f32);
  Tape& t = *lab.tape;
  Tensor tiny = make_tensor(lab.memory.allocator(), lab.memory.observer(), DType::f64, {2}, Category::state);
  tiny.assign_doubles(Numbers{1e-300, 0});
  Tensor a = lab.state({2}, {1, 2}), b = lab.state({2}, {3, 4});
  EXPECT_EQ(numbers(where(t, tiny, a, b)), (Numbers{1, 4}));  // 1e-300 is 0 in f32, but it is not 0
  EXPECT_EQ(numbers(where(t, lab.indices({0, -5}), a, b)), (Numbers{3, 2}));
  EXPECT_EQ(numbers(where(t, 1.0, a, 9.0)), (Numbers{1, 2}));
  EXPECT_EQ(numbers(where(t, cast(t, lab.indices({1, 0}), DType::boolean), a, 9.0)), (Numbers{1, 9}));
}

TEST(Compare, IntegersCompareExactly) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor big = lab.indices({0, 0});
  big.host_write<std::int64_t>()[0] = (std::int64_t{1} << 53) + 1;  // not a double
  EXPECT_EQ(numbers(equal(t, big, 9007199254740992.0)), (Numbers{0, 0}));
  EXPECT_EQ(numbers(greater(t, big, 9007199254740992.0)), (Numbers{1, 0}));
  EXPECT_EQ(equal(t, big, big).dtype(), DType::f64);
}

TEST(Compare, WritesNoOtherTypeThanItsOperands) {
  Lab lab;
  Tensor x = lab.state({2}, {1, 2});
  for (DType wrong : {DType::f32, DType::bf16, DType::u8}) {
    Attrs attrs = Attrs().add(static_cast<int>(wrong));
    EXPECT_NE(user_error([&] { lab.tape->apply_one(kLess, {x, x}, attrs); }).find("[less]"), std::string::npos);
  }
}

TEST(Cast, TruncatesAndSaturates) {
  Lab lab;
  Tape& t = *lab.tape;
  Value i = cast(t, lab.state({5}, {2.9, -2.9, 1e30, -1e30, std::nan("")}), DType::i64);
  auto got = i.tensor().host_read<std::int64_t>();
  EXPECT_EQ(got[0], 2);
  EXPECT_EQ(got[1], -2);
  EXPECT_EQ(got[2], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(got[3], std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(got[4], 0);
  EXPECT_FALSE(cast(t, lab.leaf({1}, {2.5}), DType::i32).requires_grad());
}

TEST(Cast, ToBf16RoundsOnce) {
  Lab lab;
  Tape& t = *lab.tape;
  // A hair above halfway between 1 and the next: f32 has the halfway point itself, which would go to the even 1.
  Value narrow = cast(t, lab.state({3}, {1.00390625 + 1e-12, -1.00390625 - 1e-12, 1.00390625}), DType::bf16);
  EXPECT_EQ(numbers(narrow), (Numbers{1.0078125, -1.0078125, 1}));
  EXPECT_EQ(numbers(cast(t, lab.indices({(1 << 24) + (1 << 16) + 1}), DType::bf16)), Numbers{16908288});
  // A hair above halfway that a double would lose, on both sides of zero, and the largest.
  const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  const std::vector<std::int64_t> wide = {
      tie, tie + 1, tie - 1, -tie, -tie - 1, -tie + 1, std::numeric_limits<std::int64_t>::max()};
  Tensor integers = lab.indices(Numbers(wide.size(), 0));
  std::copy(wide.begin(), wide.end(), integers.host_write<std::int64_t>().begin());
  Value large = cast(t, integers, DType::bf16);
  const double below = std::ldexp(1.0, 62), above = std::ldexp(1.0, 62) + std::ldexp(1.0, 55);
  EXPECT_EQ(numbers(large), (Numbers{below, above, below, -below, -above, -below, std::ldexp(1.0, 63)}));
}

// What is stored as bf16 has gradients of that type, which add up where it is read more than once.
TEST(Cast, Bf16ValuesReadTwiceGetBothGradients) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({3}, {1, 2, 3});
  Value narrow = cast(t, x, DType::bf16);
  t.backward(std::vector<Value>{cast(t, narrow, DType::f64), cast(t, narrow, DType::f64),
                                mul(t, cast(t, narrow, DType::f64), 0.5)});
  EXPECT_EQ(Lab::gradient(x), (Numbers{2.5, 2.5, 2.5}));
}

TEST(Cast, ToItsOwnTypeKeepsTheGradient) {
  Lab lab;
  LeafRef x = lab.leaf({2}, {1, 2});
  lab.tape->backward(cast(*lab.tape, cast(*lab.tape, x, DType::f32), DType::f32));
  EXPECT_EQ(Lab::gradient(x), (Numbers{1, 1}));
}

TEST(Unary, IntegersGoRound) {
  Lab lab;
  Tape& t = *lab.tape;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  Tensor x = lab.indices({0, 0, -3});
  x.host_write<std::int64_t>()[0] = least;
  for (const Value& y : {neg(t, x), abs(t, x)}) {
    auto got = y.tensor().host_read<std::int64_t>();
    EXPECT_EQ(std::vector<std::int64_t>(got.begin(), got.end()), (std::vector<std::int64_t>{least, 0, 3}));
  }
}

TEST(Unary, ClampPassesNoGradientWhereItIsNaN) {
  Lab lab;
  LeafRef x = lab.leaf({2}, {std::nan(""), 1});
  lab.tape->backward(clamp(*lab.tape, x, 0, 2));
  EXPECT_EQ(Lab::gradient(x), (Numbers{0, 1}));
}

TEST(Unary, DerivativesAtTheirCorners) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({4}, {0, -0.0, 2, -2});
  t.backward(std::vector<Value>{relu(t, x), mul(t, abs(t, x), 10.0), mul(t, clamp(t, x, 0, 2), 100.0)});
  EXPECT_EQ(Lab::gradient(x), (Numbers{100, 100, 111, -10}));
  EXPECT_NE(user_error([&] { clamp(t, x, 2, 1); }).find("[clamp]"), std::string::npos);
}

TEST(Max, GivesItsGradientToTheFirstMaximum) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2, 3}, {1, 5, 5, 7, 7, 0});
  t.backward(max_axis(t, x, 1));
  EXPECT_EQ(Lab::gradient(x), (Numbers{0, 1, 0, 1, 0, 0}));
  x->clear_grad();
  t.backward(max(t, x));
  EXPECT_EQ(Lab::gradient(x), (Numbers{0, 0, 0, 1, 0, 0}));
}

TEST(Reduce, NothingSumsToZeroButHasNoMaximumOrMean) {
  Lab lab;
  Tape& t = *lab.tape;
  Tensor none = lab.state({2, 0}, {});
  EXPECT_EQ(numbers(sum_axis(t, none, 1)), (Numbers{0, 0}));
  EXPECT_NE(user_error([&] { max_axis(t, none, 1); }).find("[max]"), std::string::npos);
  EXPECT_NE(user_error([&] { mean(t, none); }).find("[mean]"), std::string::npos);
  EXPECT_NE(user_error([&] { sum_axis(t, none, 2); }).find("sum"), std::string::npos);
}

TEST(Max, TreatsNaNAsLargestAlongEveryAxis) {
  Lab lab;
  Tape& t = *lab.tape;
  double nan = std::nan("");
  Tensor x = lab.state({2, 3}, {1, nan, nan, 4, 0, 2});
  EXPECT_EQ(numbers(argmax(t, x, 1)), (Numbers{1, 0}));
  EXPECT_EQ(numbers(argmax(t, x, 0)), (Numbers{1, 0, 0}));
  EXPECT_TRUE(std::isnan(max(t, x).item()));
  EXPECT_EQ(numbers(max_axis(t, x, 0))[0], 4);
}

TEST(Max, AgreesWithAPlainLoopOnManyLines) {
  Lab lab(Method::retain, DType::f32);
  Tape& t = *lab.tape;
  Numbers data;
  for (int i = 0; i < 3 * 37 * 131; ++i) data.push_back((i * 7919 + i / 13) % 101);  // many ties
  Tensor x = lab.state({3, 37, 131}, data);
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t inner = axis == 2 ? 1 : (axis == 1 ? 131 : 37 * 131), n = x.shape()[axis];
    Numbers values = numbers(max_axis(t, x, axis)), at = numbers(argmax(t, x, axis));
    for (std::size_t line = 0; line < values.size(); ++line) {
      std::int64_t first =
          static_cast<std::int64_t>(line) / inner * n * inner + static_cast<std::int64_t>(line) % inner;
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < n; ++i) {
        if (data[first + i * inner] > data[first + best * inner]) best = i;
      }
      ASSERT_EQ(at[line], best) << "axis " << axis << ", line " << line;
      ASSERT_EQ(values[line], data[first + best * inner]);
    }
  }
}

TEST(TopK, PutsTheLowerIndexFirstOnTies) {
  Lab lab;
  Tape& t = *lab.tape;
  TopK best = top_k(t, lab.state({2, 4}, {1, 3, 3, 2, 5, 5, 5, 5}), 3);
  EXPECT_EQ(numbers(best.indices), (Numbers{1, 2, 3, 0, 1, 2}));
  EXPECT_EQ(numbers(best.values), (Numbers{3, 3, 2, 5, 5, 5}));
  EXPECT_EQ(numbers(argmax(t, lab.state({3}, {2, 2, 1}))), (Numbers{0}));
  EXPECT_NE(user_error([&] { top_k(t, lab.state({2}, {1, 2}), 3); }).find("[top_k]"), std::string::npos);
}

}  // namespace
}  // namespace reprise
