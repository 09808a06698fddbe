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

/// All segments in two-level runs of two.
class PairsPolicy final : public SegmentPolicy {
 public:
  SegmentOption choose(const char*, std::uint32_t instance) override {
    return {ValueOption::replay, StateOption::region, instance / 2 + 1, instance % 2 == 1};
  }
};

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

/// Between the segments passes a value that lies behind the start of its storage, written in place over what it views.
std::vector<double> gradient_past_a_slice(SegmentPolicy* policy) {
  Lab lab;
  Tape& t = *lab.tape;
  if (policy) t.set_policy(policy);
  LeafRef x = lab.leaf({8}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8});
  Value a = sin(t, x);
  Value s = slice(t, a, 0, 1, 8);
  a.reset();
  Value w = segment(t, "first", [&] {
    Value v = slice(t, s, 0, 2, 7);
    s.reset();
    mul_into(t, v, 2.0);
    return v;
  });
  Value y = segment(t, "second", [&] {
    Value c = slice(t, w, 0, 1, 5);
    w.reset();
    return mul(t, c, c);
  });
  if (policy) {
    const SegmentInstance& first = t.data().segments[0];
    EXPECT_EQ(first.let_go.size(), 1U) << "the run lets go of nothing: the test is blind";
  }
  t.backward(sum(t, y));
  return Lab::gradient(x);
}

TEST(ReplayOfARun, AViewOfAValueThatItsRunHasRestoredHasItsOwnElements) {
  PairsPolicy pairs;
  EXPECT_EQ(gradient_past_a_slice(&pairs), gradient_past_a_slice(nullptr));
}

}  // namespace
}  // namespace reprise
