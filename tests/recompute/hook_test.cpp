#include "autograd/hook.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/arithmetic.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

class Hook : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, Hook, ::testing::Values(Method::retain, Method::whole, Method::region),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(Hook, SeesTheCompleteGradientOnceAndMayMoveStateThatWasRead) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({1}, {0.5});
  Tensor b = lab.state({1}, {2.0});
  std::vector<double> seen;
  GradientHook body = [&](const TensorView& gradient) {
    seen.push_back(gradient.as<double>()[0]);
    assign(t, b, 7.0);
  };
  Value y = segment(t, "S", [&] {
    Value h = hook(t, sin(t, mul(t, x, b)), body);
    return add(t, mul(t, h, 3.0), h);
  });
  t.backward(y);
  EXPECT_EQ(seen, (std::vector<double>{4.0}));
  EXPECT_NEAR(Lab::gradient(x)[0], 4 * std::cos(1.0) * 2.0, 1e-15);
  EXPECT_EQ(b.to_doubles()[0], 7.0);
}

TEST_P(Hook, OneThatThrowsRunsAgainInFull) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({1}, {0.5});
  int calls = 0;
  GradientHook body = [&](const TensorView&) {
    if (++calls == 1) throw std::runtime_error("once");
  };
  Value y = segment(t, "S", [&] { return sin(t, hook(t, sin(t, x), body)); });
  EXPECT_THROW(t.backward(y), std::runtime_error);
  t.backward(y);
  EXPECT_EQ(calls, 2);
  EXPECT_NEAR(Lab::gradient(x)[0], std::cos(std::sin(0.5)) * std::cos(0.5), 1e-15);
}

}  // namespace
}  // namespace reprise
