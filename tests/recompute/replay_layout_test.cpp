// Where a replay puts values in memory: views were recorded against the layout of the forward, and a replay whose
// private memory is laid out otherwise would read other elements without a word.
#include <gtest/gtest.h>

#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

const std::vector<double> kSix{0.3, -0.2, 0.7, 0.1, -0.6, 0.5};

class ReplayLayout : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, ReplayLayout, ::testing::Values(Method::whole, Method::region),
                         [](const auto& info) { return to_string(info.param); });

/// A transposed view, written in place while what it views has a name, is parted from it: the forward writes a
/// contiguous copy, of which the reshape is a view.
std::vector<double> gradient_past_a_parted_view(Method method) {
  Lab lab(method);
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({2, 3}, kSix);
  Tensor b = lab.state({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor r = lab.state({6}, {6, 5, 4, 3, 2, 1});
  Value y = segment(t, "S", [&] {
    Value u = sin(t, x);
    Value w = transpose(t, u);
    mul_into(t, w, b);
    return mul(t, sin(t, reshape(t, w, {6})), r);
  });
  t.backward(sum(t, y));
  return Lab::gradient(x);
}

TEST_P(ReplayLayout, AValueThatWasPartedFromItsViewIsLaidOutAsInTheForward) {
  EXPECT_EQ(gradient_past_a_parted_view(GetParam()), gradient_past_a_parted_view(Method::retain));
}

}  // namespace
}  // namespace reprise
