#include "ops/batch_norm.h"

#include <gtest/gtest.h>

#include "tests/ops/network_check.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using testing::Bench;
using testing::bytes_of;
using testing::relative_error;
using testing::Threads;

enum class Form { plain, relu, add_relu };

struct Parts {
  LeafRef x, residual, gamma, beta;
  Tensor mean, variance;
};

Parts make_parts(Bench& bench, const Shape& shape, double offset = 0) {
  std::int64_t channels = shape.back();
  std::vector<double> data = testing::numbers(element_count(shape), 1), variance(static_cast<std::size_t>(channels));
  for (double& value : data) value += offset;
  for (std::size_t c = 0; c < variance.size(); ++c) variance[c] = 0.5 + 0.1 * static_cast<double>(c);
  return {bench.leaf(shape, data),   bench.leaf(shape, 2),        bench.leaf({channels}, 3),
          bench.leaf({channels}, 4), bench.tensor({channels}, 5), bench.tensor({channels}, variance)};
}

Value run(Bench& bench, const Parts& p, Form form, const BatchNormOptions& o) {
  if (form == Form::plain) return batch_norm(*bench.tape, p.x, p.gamma, p.beta, p.mean, p.variance, o);
  if (form == Form::relu) return batch_norm_relu(*bench.tape, p.x, p.gamma, p.beta, p.mean, p.variance, o);
  return batch_norm_add_relu(*bench.tape, p.x, p.residual, p.gamma, p.beta, p.mean, p.variance, o);
}

// Statistics of one channel, in double and in two passes.
struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& x, std::size_t channels, std::size_t c) {
  Moments m;
  std::size_t rows = x.size() / channels;
  for (std::size_t r = 0; r < rows; ++r) m.mean += x[r * channels + c];
  m.mean /= static_cast<double>(rows);
  for (std::size_t r = 0; r < rows; ++r) m.variance += (x[r * channels + c] - m.mean) * (x[r * channels + c] - m.mean);
  m.variance /= static_cast<double>(rows);
  return m;
}

std::vector<double> naive(const Parts& p, Form form, const BatchNormOptions& o) {
  std::vector<double> x = p.x->data.to_doubles(), residual = p.residual->data.to_doubles(),
                      gamma = p.gamma->data.to_doubles(), beta = p.beta->data.to_doubles(), mean = p.mean.to_doubles(),
                      variance = p.variance.to_doubles(), y(x.size());
  std::size_t channels = gamma.size();
  for (std::size_t c = 0; c < channels; ++c) {
    Moments m = o.training ? moments(x, channels, c) : Moments{mean[c], variance[c]};
    for (std::size_t i = c; i < x.size(); i += channels) {
      y[i] = (x[i] - m.mean) / std::sqrt(m.variance + o.eps) * gamma[c] + beta[c];
      if (form == Form::add_relu) y[i] += residual[i];
      if (form != Form::plain) y[i] = std::max(0.0, y[i]);
    }
  }
  return y;
}

TEST(BatchNorm, FollowsTheDefinition) {
  // Widths that are folded, that are not, and rows that leave a short last block.
  for (const Shape& shape : {Shape{7, 3}, Shape{5, 9, 9, 16}, Shape{3, 4, 300}, Shape{67, 5, 5, 10}}) {
    for (Form form : {Form::plain, Form::relu, Form::add_relu}) {
      for (bool training : {true, false}) {
        BatchNormOptions o{.training = training};
        for (DType dtype : {DType::f64, DType::f32}) {
          Bench bench(dtype);
          Parts p = make_parts(bench, shape);
          std::vector<double> expected = naive(p, form, o);
          EXPECT_LT(relative_error(run(bench, p, form, o).tensor().to_doubles(), expected),
                    dtype == DType::f64 ? 1e-12 : 3e-6)
              << to_string(shape);
        }
      }
    }
  }
}

TEST(BatchNorm, GradientsAgreeWithCentralDifferences) {
  for (const Shape& shape : {Shape{6, 3}, Shape{2, 3, 2, 2}}) {
    for (Form form : {Form::plain, Form::relu, Form::add_relu}) {
      for (bool training : {true, false}) {
        Bench bench(DType::f64);
        Parts p = make_parts(bench, shape);
        std::vector<LeafRef> leaves{p.x, p.gamma, p.beta};
        if (form == Form::add_relu) leaves.push_back(p.residual);
        testing::expect_gradients(
            bench, leaves, [&] { return run(bench, p, form, {.training = training}); }, 2e-6);
      }
    }
  }
}

TEST(BatchNorm, EachWantedGradientAloneIsTheSame) {
  for (bool training : {true, false}) {
    auto gradients = [&](int only) {
      Bench bench(DType::f64);
      Parts p = make_parts(bench, {4, 3, 5});
      LeafRef all[] = {p.x, p.residual, p.gamma, p.beta};
      for (int i = 0; i < 4; ++i) all[i]->requires_grad = only < 0 || only == i;
      bench.tape->backward(bench.weigh(run(bench, p, Form::add_relu, {.training = training})));
      std::vector<std::string> bits;
      for (const LeafRef& leaf : all) bits.push_back(leaf->grad_empty ? "" : bytes_of(leaf->grad));
      return bits;
    };
    std::vector<std::string> together = gradients(-1);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(gradients(i)[static_cast<std::size_t>(i)], together[static_cast<std::size_t>(i)]) << i;
  }
}

TEST(BatchNorm, GradientsAreAddedToWhatIsThere) {
  Bench bench(DType::f64);
  Parts p = make_parts(bench, {4, 3, 5});
  auto step = [&] {
    bench.tape->backward(bench.weigh(run(bench, p, Form::add_relu, {})));
    std::vector<double> all;
    for (const LeafRef& leaf : {p.x, p.residual, p.gamma, p.beta}) {
      std::vector<double> part = leaf->grad.to_doubles();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  std::vector<double> once = step(), twice = step();
  for (double& value : once) value *= 2;
  EXPECT_LT(relative_error(twice, once), 1e-14);
}

TEST(BatchNorm, MovesRunningStatisticsByTheUnbiasedVariance) {
  Bench bench(DType::f64);
  Parts p = make_parts(bench, {6, 2});
  std::vector<double> mean = p.mean.to_doubles(), variance = p.variance.to_doubles(), x = p.x->data.to_doubles();
  run(bench, p, Form::plain, {.momentum = 0.3});
  for (std::size_t c = 0; c < 2; ++c) {
    Moments m = moments(x, 2, c);
    EXPECT_NEAR(p.mean.to_doubles()[c], 0.7 * mean[c] + 0.3 * m.mean, 1e-15);
    EXPECT_NEAR(p.variance.to_doubles()[c], 0.7 * variance[c] + 0.3 * m.variance * 6 / 5, 1e-15);
  }
}

// The rows of one table, as a checkpoint of pairs would have them: each statistic takes every second number.
TEST(BatchNorm, RunningStatisticsMayLieByStrides) {
  for (Form form : {Form::plain, Form::relu, Form::add_relu}) {
    Bench bench(DType::f32);
    Parts p = make_parts(bench, {6, 5}), apart = p;
    std::vector<double> both(10);
    for (std::size_t c = 0; c < 5; ++c) {
      both[2 * c] = p.mean.to_doubles()[c];
      both[2 * c + 1] = p.variance.to_doubles()[c];
    }
    Tensor table = bench.tensor({5, 2}, both);
    apart.mean = table.with_view({5}, {2}, 0), apart.variance = table.with_view({5}, {2}, 1);
    EXPECT_EQ(bytes_of(run(bench, p, form, {}).tensor()), bytes_of(run(bench, apart, form, {}).tensor()));
    EXPECT_EQ(apart.mean.to_doubles(), p.mean.to_doubles());
    EXPECT_EQ(apart.variance.to_doubles(), p.variance.to_doubles());
  }
}

TEST(BatchNorm, EvalLeavesRunningStatisticsAlone) {
  Bench bench(DType::f64);
  Parts p = make_parts(bench, {6, 2});
  std::string before = bytes_of(p.mean) + bytes_of(p.variance);
  run(bench, p, Form::relu, {.training = false});
  EXPECT_EQ(bytes_of(p.mean) + bytes_of(p.variance), before);
}

TEST(BatchNorm, VarianceSurvivesAMeanFarFromZero) {
  Bench bench(DType::f32);
  Parts p = make_parts(bench, {64, 32, 4}, 1000.0);
  std::vector<double> x = p.x->data.to_doubles();  // as rounded to f32
  BatchNormOptions o{.momentum = 1.0};
  std::vector<double> expected = naive(p, Form::plain, o);
  EXPECT_LT(relative_error(run(bench, p, Form::plain, o).tensor().to_doubles(), expected), 5e-4);
  for (std::size_t c = 0; c < 4; ++c) {
    double rows = static_cast<double>(x.size()) / 4;
    EXPECT_NEAR(p.variance.to_doubles()[c] / (moments(x, 4, c).variance * rows / (rows - 1)), 1.0, 1e-5);
  }
}

TEST(BatchNorm, BitsDoNotDependOnThreads) {
  for (const Shape& shape : {Shape{33, 9, 9, 16}, Shape{64, 4, 4, 200}}) {
    auto bits = [&](int threads) {
      Threads scope(threads);
      Bench bench(DType::f32);
      Parts p = make_parts(bench, shape);
      Value y = run(bench, p, Form::add_relu, {});
      std::string all = bytes_of(y.tensor()) + bytes_of(p.mean) + bytes_of(p.variance);
      bench.tape->backward(bench.weigh(y));
      for (const LeafRef& leaf : {p.x, p.residual, p.gamma, p.beta}) all += bytes_of(leaf->grad);
      return all;
    };
    EXPECT_EQ(bits(1), bits(2));
  }
}

TEST(BatchNorm, RefusesShapesThatDoNotFit) {
  Bench bench(DType::f32);
  Parts p = make_parts(bench, {6, 2});
  testing::expect_error(ErrorKind::user, {"per-channel operands of shape [3]"}, [&] {
    batch_norm(*bench.tape, bench.tensor({6, 3}, 1), p.gamma, p.beta, p.mean, p.variance);
  });
  testing::expect_error(ErrorKind::user, {"at least 2 values per channel"}, [&] {
    batch_norm(*bench.tape, bench.tensor({1, 2}, 1), p.gamma, p.beta, p.mean, p.variance);
  });
  testing::expect_error(ErrorKind::user, {"a residual of x's shape [6, 2], got [3, 2]"}, [&] {
    batch_norm_add_relu(*bench.tape, p.x, bench.tensor({3, 2}, 1), p.gamma, p.beta, p.mean, p.variance);
  });
}

}  // namespace
}  // namespace reprise
