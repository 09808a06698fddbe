// Two-level runs: values that pass between their segments are let go of and restored before the backward enters any.
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

/// All segments in two-level runs of two.
class PairsPolicy final : public SegmentPolicy {
 public:
  SegmentOption choose(const char*, std::uint32_t instance) override {
    return {ValueOption::replay, StateOption::region, instance / 2 + 1, instance % 2 == 1};
  }
};

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

/// Of the first segment one output is differentiated before its run goes on, and with it what its replay reads ends.
std::vector<double> gradient_of_a_run_with_a_backward_inside(SegmentPolicy* policy) {
  Lab lab;
  Tape& t = *lab.tape;
  if (policy) t.set_policy(policy);
  LeafRef x = lab.leaf({3}, {0.1, 0.2, 0.3});
  Tensor b = lab.state({3}, {2, 3, 4});
  std::pair<Value, Value> made = segment(t, "first", [&] {
    Value early = sin(t, mul(t, x, b));
    return std::pair(early, add(t, sin(t, x), b));
  });
  t.backward(made.first);
  assign(t, b, 100.0);
  Value y = segment(t, "second", [&] {
    Value z = mul(t, made.second, made.second);
    made.second.reset();
    return z;
  });
  t.backward(y);
  return Lab::gradient(x);
}

TEST(ReplayOfARun, ARunDoesNotGoOnPastABackward) {
  PairsPolicy pairs;
  EXPECT_EQ(gradient_of_a_run_with_a_backward_inside(&pairs), gradient_of_a_run_with_a_backward_inside(nullptr));
}

}  // namespace
}  // namespace reprise
