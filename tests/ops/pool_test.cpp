#include "ops/pool.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ops/network_check.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using testing::Bench;

std::vector<PoolOptions> options() {
  return {{.window = 2},
          {.window = 3, .stride = 2, .padding = 1},
          {.window = Pair(3, 2), .stride = Pair(1, 2), .padding = Pair(1, 0)}};
}

// Straight from the indices: the largest element, or the sum over the window's full size.
std::vector<double> naive(const Shape& s, const std::vector<double>& x, const PoolOptions& o, bool largest) {
  Pair stride(o.stride.h ? o.stride.h : o.window.h, o.stride.w ? o.stride.w : o.window.w);
  std::int64_t oh = window_count(s[1], o.window.h, stride.h, o.padding.h, 1),
               ow = window_count(s[2], o.window.w, stride.w, o.padding.w, 1);
  std::vector<double> y;
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t oy = 0; oy < oh; ++oy)
      for (std::int64_t ox = 0; ox < ow; ++ox)
        for (std::int64_t c = 0; c < s[3]; ++c) {
          double best = -1e300, sum = 0;
          for (std::int64_t ky = 0; ky < o.window.h; ++ky)
            for (std::int64_t kx = 0; kx < o.window.w; ++kx) {
              std::int64_t iy = oy * stride.h - o.padding.h + ky, ix = ox * stride.w - o.padding.w + kx;
              if (iy < 0 || iy >= s[1] || ix < 0 || ix >= s[2]) continue;
              double value = x[static_cast<std::size_t>(((n * s[1] + iy) * s[2] + ix) * s[3] + c)];
              best = std::max(best, value);
              sum += value;
            }
          y.push_back(largest ? best : sum / static_cast<double>(o.window.h * o.window.w));
        }
  return y;
}

TEST(Pool, FollowsTheDefinition) {
  Shape shape{2, 6, 7, 3};
  for (const PoolOptions& o : options()) {
    Bench bench(DType::f64);
    Tensor x = bench.tensor(shape, 1);
    EXPECT_LT(testing::relative_error(max_pool2d(*bench.tape, x, o).tensor().to_doubles(),
                                      naive(shape, x.to_doubles(), o, true)),
              1e-15);
    EXPECT_LT(testing::relative_error(avg_pool2d(*bench.tape, x, o).tensor().to_doubles(),
                                      naive(shape, x.to_doubles(), o, false)),
              1e-14);
  }
}

TEST(Pool, GradientsAgreeWithCentralDifferences) {
  for (const PoolOptions& o : options()) {
    for (bool largest : {true, false}) {
      Bench bench(DType::f64);
      LeafRef x = bench.leaf({2, 5, 4, 2}, 1);
      testing::expect_gradients(
          bench, {x}, [&] { return largest ? max_pool2d(*bench.tape, x, o) : avg_pool2d(*bench.tape, x, o); });
    }
  }
}

TEST(Pool, GlobalAverageIsTheMeanOfEachChannelAndItsGradientIsSpreadEvenly) {
  Bench bench(DType::f64);
  LeafRef x = bench.leaf({2, 3, 2, 4}, 1);
  std::vector<double> data = x->data.to_doubles(), y = global_avg_pool(*bench.tape, x).tensor().to_doubles();
  ASSERT_EQ(y.size(), 8u);
  double sum = 0;
  for (std::size_t p = 0; p < 6; ++p) sum += data[p * 4 + 1];
  EXPECT_NEAR(y[1], sum / 6, 1e-15);
  bench.tape->clear();
  testing::expect_gradients(bench, {x}, [&] { return global_avg_pool(*bench.tape, x); });
}

TEST(Pool, MaximumGivesTheGradientToTheFirstOfEqualElementsAndKeepsNan) {
  Bench bench(DType::f64);
  LeafRef x = bench.leaf({1, 2, 2, 1}, {3, 3, 3, 3});
  bench.tape->backward(max_pool2d(*bench.tape, x));
  EXPECT_EQ(x->grad.to_doubles(), (std::vector<double>{1, 0, 0, 0}));
  Value y = max_pool2d(*bench.tape, bench.tensor({1, 2, 2, 1}, std::vector<double>{1, NAN, 5, 2}));
  EXPECT_TRUE(std::isnan(y.tensor().to_doubles()[0]));
}

TEST(Pool, GradientsAreAddedToWhatIsThere) {
  Bench bench(DType::f64);
  LeafRef x = bench.leaf({1, 4, 4, 2}, 1);
  auto run = [&] {
    Value y = add(*bench.tape, bench.weigh(max_pool2d(*bench.tape, x)), bench.weigh(avg_pool2d(*bench.tape, x)));
    bench.tape->backward(add(*bench.tape, y, bench.weigh(global_avg_pool(*bench.tape, x))));
    return x->grad.to_doubles();
  };
  std::vector<double> once = run(), twice = run();
  for (double& value : once) value *= 2;
  EXPECT_LT(testing::relative_error(twice, once), 1e-14);
}

TEST(Pool, RefusesWindowsThatDoNotFit) {
  Bench bench(DType::f32);
  Tensor x = bench.tensor({1, 4, 4, 2}, 1);
  testing::expect_error(ErrorKind::user, {"a window that fits into the padded image"},
                        [&] { max_pool2d(*bench.tape, x, {.window = 5}); });
  testing::expect_error(ErrorKind::user, {"padding of at most half the window"},
                        [&] { max_pool2d(*bench.tape, x, {.window = 2, .padding = 2}); });
  testing::expect_error(ErrorKind::user, {"at most 255 positions"}, [&] {
    max_pool2d(*bench.tape, bench.tensor({1, 40, 40, 1}, 1), {.window = 16});
  });
  std::int64_t far = std::int64_t{1} << 62;
  testing::expect_error(ErrorKind::user, {"padding of at most half the window"},
                        [&] { max_pool2d(*bench.tape, x, {.window = 2, .padding = far}); });
  testing::expect_error(ErrorKind::user, {"at most 255 positions"}, [&] {
    max_pool2d(*bench.tape, x, {.window = std::int64_t{1} << 40, .padding = std::int64_t{1} << 39});
  });
  testing::expect_error(ErrorKind::user, {"[max_pool2d] expected at least one pixel, got x [1, 0, 4, 2]"}, [&] {
    max_pool2d(*bench.tape, bench.tensor({1, 0, 4, 2}, 1), {.window = 2, .padding = 1});
  });
  testing::expect_error(ErrorKind::user, {"expected x [n, h, w, c], got [4, 4, 2]"}, [&] {
    avg_pool2d(*bench.tape, bench.tensor({4, 4, 2}, 1));
  });
}

}  // namespace
}  // namespace reprise
