// The gradient check finds wrong gradients, names the worst element, and works for functions that write and draw.
#include "autograd/gradient_check.h"

#include <gtest/gtest.h>

#include "lying_ops.h"
#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

class GradientCheckTest : public ::testing::Test {
 protected:
  void SetUp() override { register_builtin_ops(); }

  Tensor tensor(const Shape& shape, DType dtype = DType::f64) {
    Tensor made = make_tensor(memory.allocator(), memory.observer(), dtype, shape, Category::state);
    std::vector<double> values(static_cast<std::size_t>(made.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.25 + 0.125 * static_cast<double>(i % 13);
    made.assign_doubles(values);
    return made;
  }

  Memory memory;
};

TEST_F(GradientCheckTest, ARightGradientPasses) {
  LeafRef a = Leaf::create("a", tensor({3, 4})), b = Leaf::create("b", tensor({4}));
  auto result = check_gradient(memory, [&](Tape& t) { return tanh(t, mul(t, a, exp(t, b))); }, {a, b});
  EXPECT_TRUE(result.ok) << result.describe();
  EXPECT_EQ(result.compared, 16);
  EXPECT_TRUE(a->grad_empty);
}

TEST_F(GradientCheckTest, AWrongGradientNamesTheLeafAndBothNumbers) {
  LeafRef x = Leaf::create("x", tensor({3}));
  auto result = check_gradient(memory, [&](Tape& t) { return t.apply_one(lying::kWrongGradient, {x}); }, {x});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.leaf, "x");
  EXPECT_DOUBLE_EQ(result.backward, 3);
  EXPECT_NEAR(result.differences, 2, 1e-6);
  EXPECT_NE(result.describe().find("x["), std::string::npos);
}

TEST_F(GradientCheckTest, LargeLeavesAreCheckedAlongDirections) {
  LeafRef x = Leaf::create("x", tensor({40, 30}));
  auto right = check_gradient(memory, [&](Tape& t) { return sin(t, x); }, {x});
  EXPECT_TRUE(right.ok) << right.describe();
  EXPECT_EQ(right.compared, 3);
  auto wrong = check_gradient(memory, [&](Tape& t) { return t.apply_one(lying::kWrongGradient, {x}); }, {x});
  EXPECT_FALSE(wrong.ok);
}

TEST_F(GradientCheckTest, StatesAndStreamsArePutBackBeforeEachEvaluation) {
  LeafRef x = Leaf::create("x", tensor({5}));
  Tensor state = tensor({5});
  Stream stream{"noise", 3, 1, 8};
  GradientCheckOptions options;
  options.states = {state};
  options.streams = {&stream};
  int calls = 0;
  options.set_up = [&] { ++calls; };
  auto before = state.to_doubles();
  auto result = check_gradient(
      memory,
      [&](Tape& t) {
        Value y = mul(t, x, state);
        add_into(t, state, y);  // without putting it back the next evaluation would see other numbers
        return mul(t, y, uniform(t, stream, {5}, DType::f64));
      },
      {x}, options);
  EXPECT_TRUE(result.ok) << result.describe();
  EXPECT_EQ(state.to_doubles(), before);
  EXPECT_EQ(stream.position, 8u);
  EXPECT_EQ(calls, 11);
}

TEST_F(GradientCheckTest, NoRoomToPutBackIsAnErrorAndNotTheEnd) {
  LeafRef x = Leaf::create("x", tensor({1}));
  Tensor table = tensor({1});
  Tape reader(memory);  // owes what it reads of the table, so that putting that back takes memory
  int calls = 0;
  auto f = [&](Tape& t) {
    Value y = mul(t, x, table);
    if (++calls == 3) {  // the last of the calls: one for the gradient, two for the difference
      reader.clear();
      mul(reader, x, table);
      memory.fail_allocation(0);
    }
    return y;
  };
  GradientCheckOptions options;
  options.states = {table};
  std::vector<double> before = table.to_doubles();
  testing::expect_error(ErrorKind::memory, {"was made to fail"}, [&] { check_gradient(memory, f, {x}, options); });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(table.to_doubles(), before);
}

TEST_F(GradientCheckTest, InPlaceWritesAreDifferentiated) {
  LeafRef x = Leaf::create("x", tensor({4})), v = Leaf::create("v", tensor({4}));
  auto result = check_gradient(memory,
                               [&](Tape& t) {
                                 Value y = copy(t, x);
                                 Value square = mul(t, y, y);
                                 mul_into(t, y, v);
                                 return add(t, square, mul(t, y, y));
                               },
                               {x, v});
  EXPECT_TRUE(result.ok) << result.describe();
}

TEST_F(GradientCheckTest, ALeafOfAnotherDtypeIsRefused) {
  LeafRef x = Leaf::create("x", tensor({2}, DType::f32));
  try {
    check_gradient(memory, [&](Tape& t) { return exp(t, x); }, {x});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_NE(std::string(error.what()).find("expected leaf 'x' in f64, got f32"), std::string::npos);
  }
}

TEST_F(GradientCheckTest, AGradientThatIsMissingIsZeroAndFound) {
  LeafRef x = Leaf::create("x", tensor({2}));
  auto result = check_gradient(memory, [&](Tape& t) { return mul(t, stop_gradient(t, exp(t, x)), x); }, {x});
  EXPECT_FALSE(result.ok);
}

}  // namespace
}  // namespace reprise
