#include "ops/normalize.h"

#include <gtest/gtest.h>

#include "tests/ops/network_check.h"

namespace reprise {
namespace {

using testing::Bench;
using testing::bytes_of;
using testing::relative_error;
using testing::Threads;

TEST(LayerNorm, FollowsTheDefinition) {
  for (DType dtype : {DType::f64, DType::f32}) {
    Bench bench(dtype);
    Tensor x = bench.tensor({3, 5, 37}, 1), gamma = bench.tensor({37}, 2), beta = bench.tensor({37}, 3);
    std::vector<double> v = x.to_doubles(), g = gamma.to_doubles(), b = beta.to_doubles(), expected(v.size());
    for (std::size_t r = 0; r < 15; ++r) {
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < 37; ++i) mean += v[r * 37 + i] / 37;
      for (std::size_t i = 0; i < 37; ++i) variance += (v[r * 37 + i] - mean) * (v[r * 37 + i] - mean) / 37;
      for (std::size_t i = 0; i < 37; ++i)
        expected[r * 37 + i] = (v[r * 37 + i] - mean) / std::sqrt(variance + 1e-5) * g[i] + b[i];
    }
    EXPECT_LT(relative_error(layer_norm(*bench.tape, x, gamma, beta).tensor().to_doubles(), expected),
              dtype == DType::f64 ? 1e-13 : 3e-6);
  }
}

TEST(LayerNorm, GradientsAgreeWithCentralDifferences) {
  Bench bench(DType::f64);
  LeafRef x = bench.leaf({2, 3, 5}, 1), gamma = bench.leaf({5}, 2), beta = bench.leaf({5}, 3);
  testing::expect_gradients(
      bench, {x, gamma, beta}, [&] { return layer_norm(*bench.tape, x, gamma, beta); }, 2e-6);
}

TEST(LayerNorm, BitsDoNotDependOnThreads) {
  auto bits = [](int threads) {
    Threads scope(threads);
    Bench bench(DType::f32);
    LeafRef x = bench.leaf({700, 65}, 1), gamma = bench.leaf({65}, 2), beta = bench.leaf({65}, 3);
    bench.tape->backward(bench.weigh(layer_norm(*bench.tape, x, gamma, beta)));
    return bytes_of(x->grad) + bytes_of(gamma->grad) + bytes_of(beta->grad);
  };
  EXPECT_EQ(bits(1), bits(2));
}

TEST(L2Normalize, GivesRowsOfLengthOneAndLeavesZerosZero) {
  Bench bench(DType::f64);
  std::vector<double> data = testing::numbers(3 * 70, 1);
  std::fill(data.begin() + 70, data.begin() + 140, 0.0);
  std::vector<double> y = l2_normalize(*bench.tape, bench.tensor({3, 70}, data)).tensor().to_doubles();
  for (std::size_t r : {0, 2}) {
    double square = 0;
    for (std::size_t i = 0; i < 70; ++i) square += y[r * 70 + i] * y[r * 70 + i];
    EXPECT_NEAR(square, 1.0, 1e-14);
    EXPECT_NEAR(y[r * 70] * data[r * 70 + 1], y[r * 70 + 1] * data[r * 70], 1e-15);
  }
  for (std::size_t i = 70; i < 140; ++i) EXPECT_EQ(y[i], 0.0);
}

TEST(L2Normalize, GradientsAgreeWithCentralDifferences) {
  Bench bench(DType::f64);
  LeafRef x = bench.leaf({3, 2, 5}, 1);
  testing::expect_gradients(bench, {x}, [&] { return l2_normalize(*bench.tape, x); });
}

TEST(L2Normalize, BelowEpsTheDivisorIsAConstant) {
  Bench bench(DType::f64);
  LeafRef x = bench.leaf({1, 2}, {3e-3, 4e-3});
  testing::expect_gradients(bench, {x}, [&] { return l2_normalize(*bench.tape, x, 0.1); });
  EXPECT_NEAR(x->grad.to_doubles()[0] * 0.1, testing::numbers(2, 99)[0], 1e-15);
}

}  // namespace
}  // namespace reprise
