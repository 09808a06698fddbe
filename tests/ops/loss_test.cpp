#include "ops/loss.h"

#include <gtest/gtest.h>

#include "tests/ops/network_check.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using testing::Bench;
using testing::bytes_of;
using testing::Threads;

double naive_cross_entropy(const std::vector<std::vector<double>>& logits, const std::vector<double>& labels) {
  double total = 0;
  for (std::size_t r = 0; r < logits.size(); ++r) {
    double sum = 0;
    for (double logit : logits[r]) sum += std::exp(logit);
    total += std::log(sum) - logits[r][static_cast<std::size_t>(labels[r])];
  }
  return total / static_cast<double>(logits.size());
}

std::vector<std::vector<double>> rows_of(const Tensor& tensor) {
  std::vector<double> all = tensor.to_doubles();
  auto width = static_cast<std::ptrdiff_t>(tensor.shape().back());
  std::vector<std::vector<double>> rows;
  for (auto at = all.begin(); at != all.end(); at += width) rows.emplace_back(at, at + width);
  return rows;
}

TEST(SoftmaxCrossEntropy, FollowsTheDefinition) {
  std::vector<double> labels{4, 0, 99, 57};
  for (DType dtype : {DType::f64, DType::f32}) {
    Bench bench(dtype);
    Tensor logits = bench.tensor({4, 100}, 1);
    double loss = softmax_cross_entropy(*bench.tape, logits, bench.labels(labels)).item();
    EXPECT_NEAR(loss, naive_cross_entropy(rows_of(logits), labels), dtype == DType::f64 ? 1e-13 : 1e-6);
  }
}

TEST(SoftmaxCrossEntropy, LargeLogitsDoNotOverflow) {
  Bench bench(DType::f32);
  LeafRef logits = bench.leaf({1, 3}, {1000, 999, -1000});
  Value loss = softmax_cross_entropy(*bench.tape, logits, bench.labels({1}));
  EXPECT_NEAR(loss.item(), 1 + std::log1p(std::exp(-1.0)), 1e-6);
  bench.tape->backward(loss);
  std::vector<double> gradient = logits->grad.to_doubles();
  EXPECT_NEAR(gradient[0] + gradient[1] + gradient[2], 0.0, 1e-4);
}

TEST(SoftmaxCrossEntropy, GradientsAgreeWithCentralDifferences) {
  Bench bench(DType::f64);
  LeafRef logits = bench.leaf({3, 40}, 1);
  Tensor labels = bench.labels({2, 39, 0});
  testing::expect_gradients(bench, {logits}, [&] { return softmax_cross_entropy(*bench.tape, logits, labels); });
}

TEST(SoftmaxCrossEntropy, ALabelOutOfRangeIsNamedAndChangesNothing) {
  for (double wrong : {-1.0, 5.0}) {
    Bench bench(DType::f32);
    Tensor logits = bench.tensor({2, 5}, 1);
    try {
      softmax_cross_entropy(*bench.tape, logits, bench.labels({0, wrong}));
      FAIL() << "was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::user);
      EXPECT_NE(error.message().find("row 1"), std::string::npos) << error.message();
    }
    EXPECT_NO_THROW(softmax_cross_entropy(*bench.tape, logits, bench.labels({0, 4})));
  }
}

TEST(SoftmaxCrossEntropy, BitsDoNotDependOnThreads) {
  auto bits = [](int threads) {
    Threads scope(threads);
    Bench bench(DType::f32);
    LeafRef logits = bench.leaf({37, 3001}, 1);
    std::vector<double> labels(37);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<double>(i * 71 % 3001);
    Value loss = softmax_cross_entropy(*bench.tape, logits, bench.labels(labels));
    std::string all = bytes_of(loss.tensor());
    bench.tape->backward(loss);
    return all + bytes_of(logits->grad);
  };
  EXPECT_EQ(bits(1), bits(2));
}

TEST(InfoNce, IsTheCrossEntropyOfThePositiveAgainstTheQueue) {
  for (DType dtype : {DType::f64, DType::f32}) {
    Bench bench(dtype);
    Tensor query = bench.tensor({5, 8}, 1), key = bench.tensor({5, 8}, 2), queue = bench.tensor({77, 8}, 3);
    auto q = rows_of(query), k = rows_of(key), old = rows_of(queue);
    auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
      double sum = 0;
      for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
      return sum;
    };
    std::vector<std::vector<double>> logits(5);
    for (std::size_t r = 0; r < 5; ++r) {
      logits[r].push_back(dot(q[r], k[r]) / 0.2);
      for (const auto& row : old) logits[r].push_back(dot(q[r], row) / 0.2);
    }
    double loss = info_nce(*bench.tape, query, key, queue, 0.2).item();
    EXPECT_NEAR(loss, naive_cross_entropy(logits, std::vector<double>(5, 0.0)), dtype == DType::f64 ? 1e-12 : 5e-6);
  }
}

TEST(InfoNce, GradientsAgreeWithCentralDifferences) {
  Bench bench(DType::f64);
  LeafRef query = bench.leaf({3, 4}, 1), key = bench.leaf({3, 4}, 2);
  Tensor queue = bench.tensor({9, 4}, 3);
  testing::expect_gradients(bench, {query, key}, [&] { return info_nce(*bench.tape, query, key, queue, 0.3); });
}

TEST(InfoNce, GradientsAreAddedToWhatIsThere) {
  Bench bench(DType::f64);
  LeafRef query = bench.leaf({3, 4}, 1), key = bench.leaf({3, 4}, 2);
  Tensor queue = bench.tensor({9, 4}, 3);
  auto step = [&] {
    bench.tape->backward(info_nce(*bench.tape, query, key, queue, 0.3));
    std::vector<double> all = query->grad.to_doubles(), more = key->grad.to_doubles();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  std::vector<double> once = step(), twice = step();
  for (double& value : once) value *= 2;
  EXPECT_LT(testing::relative_error(twice, once), 1e-14);
}

TEST(InfoNce, GradientIsThatOfTheQueueTheForwardReadAlthoughItWasOverwritten) {
  auto gradient = [](bool overwrite) {
    Bench bench(DType::f32);
    LeafRef query = bench.leaf({4, 8}, 1);
    Tensor key = bench.tensor({4, 8}, 2), queue = bench.tensor({64, 8}, 3);
    Value loss = info_nce(*bench.tape, query, key, queue, 0.1);
    if (overwrite) queue.assign_doubles(testing::numbers(64 * 8, 9));
    bench.tape->backward(loss);
    return bytes_of(query->grad);
  };
  EXPECT_EQ(gradient(false), gradient(true));
}

TEST(InfoNce, BitsDoNotDependOnThreads) {
  auto bits = [](int threads) {
    Threads scope(threads);
    Bench bench(DType::f32);
    LeafRef query = bench.leaf({33, 64}, 1);
    Value loss = info_nce(*bench.tape, query, bench.tensor({33, 64}, 2), bench.tensor({2050, 64}, 3), 0.1);
    std::string all = bytes_of(loss.tensor());
    bench.tape->backward(loss);
    return all + bytes_of(query->grad);
  };
  EXPECT_EQ(bits(1), bits(2));
}

TEST(InfoNce, RefusesShapesAndTemperaturesThatDoNotFit) {
  Bench bench(DType::f32);
  Tensor a = bench.tensor({3, 4}, 1), b = bench.tensor({3, 4}, 2), queue = bench.tensor({9, 4}, 3);
  testing::expect_error(ErrorKind::user, {"key [n, d]"}, [&] {
    info_nce(*bench.tape, a, bench.tensor({2, 4}, 1), queue, 0.1);
  });
  testing::expect_error(ErrorKind::user, {"queue [rows, d]"}, [&] {
    info_nce(*bench.tape, a, b, bench.tensor({9, 5}, 1), 0.1);
  });
  testing::expect_error(ErrorKind::user, {"a temperature above 0"}, [&] { info_nce(*bench.tape, a, b, queue, 0.0); });
}

TEST(Mse, FollowsTheDefinitionAndItsGradientsAgreeWithCentralDifferences) {
  Bench bench(DType::f64);
  LeafRef a = bench.leaf({3, 7}, 1), b = bench.leaf({3, 7}, 2);
  std::vector<double> x = a->data.to_doubles(), y = b->data.to_doubles();
  double expected = 0;
  for (std::size_t i = 0; i < 21; ++i) expected += (x[i] - y[i]) * (x[i] - y[i]) / 21;
  EXPECT_NEAR(mse(*bench.tape, a, b).item(), expected, 1e-15);
  bench.tape->clear();
  testing::expect_gradients(bench, {a, b}, [&] { return mse(*bench.tape, a, b); });
}

TEST(CountTopK, CountsRowsWhoseLabelIsAmongTheLargest) {
  Bench bench(DType::f32);
  Tensor logits = bench.tensor({3, 4}, std::vector<double>{1, 2, 3, 4, 4, 3, 2, 1, 5, 5, 5, 0});
  Tensor labels = bench.labels({2, 0, 1});
  EXPECT_EQ(count_top_k(logits, labels, 1), 1);
  EXPECT_EQ(count_top_k(logits, labels, 2), 3);
  testing::expect_error(ErrorKind::user, {"labels in [0, 4), got 4 at row 2"}, [&] {
    count_top_k(logits, bench.labels({2, 0, 4}), 1);
  });
  testing::expect_error(ErrorKind::user, {"[count_top_k] expected logits of f32 or f64 and labels of i64"},
                        [&] { count_top_k(logits, bench.tensor({3}, 1), 1); });
}

}  // namespace
}  // namespace reprise
