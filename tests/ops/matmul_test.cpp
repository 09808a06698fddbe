#include "ops/matmul.h"

#include <gtest/gtest.h>

#include "ops/gemm.h"
#include "ops/implementation.h"
#include "tests/ops/network_check.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using testing::Bench;
using testing::bytes_of;
using testing::relative_error;
using testing::Threads;

std::vector<double> naive(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb,
                          const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> c;
  for (std::int64_t p = 0; p < batch; ++p)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += a[static_cast<std::size_t>(p * m * k + (ta ? l * m + i : i * k + l))] *
                 b[static_cast<std::size_t>(p * k * n + (tb ? j * k + l : l * n + j))];
        }
        c.push_back(sum);
      }
  return c;
}

Shape matrix(std::int64_t batch, std::int64_t rows, std::int64_t columns, bool transposed) {
  Shape shape = transposed ? Shape{columns, rows} : Shape{rows, columns};
  if (batch > 0) shape.insert(0, batch);
  return shape;
}

TEST(Matmul, FollowsTheDefinitionForAllTransposes) {
  for (std::int64_t batch : {0, 3}) {
    for (int which = 0; which < 4; ++which) {
      bool ta = which & 1, tb = which & 2;
      Shape sa = matrix(batch, 5, 7, ta), sb = matrix(batch, 7, 4, tb);
      std::vector<double> expected =
          naive(std::max<std::int64_t>(1, batch), 5, 4, 7, ta, tb, testing::numbers(element_count(sa), 1),
                testing::numbers(element_count(sb), 2));
      for (DType dtype : {DType::f64, DType::f32}) {
        Bench bench(dtype);
        Value c = matmul(*bench.tape, bench.tensor(sa, 1), bench.tensor(sb, 2), ta, tb);
        EXPECT_EQ(c.shape(), matrix(batch, 5, 4, false));
        EXPECT_LT(relative_error(c.tensor().to_doubles(), expected), dtype == DType::f64 ? 1e-14 : 1e-6);
      }
    }
  }
}

TEST(Matmul, GradientsAgreeWithCentralDifferencesForAllTransposes) {
  for (std::int64_t batch : {0, 2}) {
    for (int which = 0; which < 4; ++which) {
      bool ta = which & 1, tb = which & 2;
      Bench bench(DType::f64);
      LeafRef a = bench.leaf(matrix(batch, 3, 4, ta), 1), b = bench.leaf(matrix(batch, 4, 2, tb), 2);
      testing::expect_gradients(bench, {a, b}, [&] { return matmul(*bench.tape, a, b, ta, tb); });
    }
  }
}

TEST(Matmul, LibraryAgreesWithEigenAndBitsDoNotDependOnThreads) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (Sizes s : {Sizes{300, 1100, 65}, Sizes{1, 33, 700}, Sizes{129, 1, 500}, Sizes{1, 1, 64}, Sizes{2, 2, 3}}) {
    std::string one, two;
    std::vector<double> library, own;
    {
      Threads scope(1);
      Bench bench(DType::f32);
      Value c = matmul(*bench.tape, bench.tensor({s.m, s.k}, 1), bench.tensor({s.k, s.n}, 2));
      one = bytes_of(c.tensor());
      library = c.tensor().to_doubles();
    }
    {
      Threads scope(2);
      Bench bench(DType::f32);
      two = bytes_of(matmul(*bench.tape, bench.tensor({s.m, s.k}, 1), bench.tensor({s.k, s.n}, 2)).tensor());
    }
    {
      PortableOnly portable;
      Bench bench(DType::f32);
      own = matmul(*bench.tape, bench.tensor({s.m, s.k}, 1), bench.tensor({s.k, s.n}, 2)).tensor().to_doubles();
    }
    EXPECT_EQ(one, two) << s.m << " x " << s.n << " x " << s.k;
    EXPECT_LT(relative_error(library, own), 5e-6);
  }
}

TEST(Matmul, EmptyInnerExtentGivesZeros) {
  Bench bench(DType::f32);
  Value c = matmul(*bench.tape, bench.tensor({2, 0}, 1), bench.tensor({0, 3}, 2));
  EXPECT_EQ(c.tensor().to_doubles(), std::vector<double>(6, 0.0));
}

/// Inside the parallel loop an exception would end the process.
TEST(Matmul, AProductThatTheLibraryRefusesIsAnErrorAfterTheLoop) {
  if (choose_gemm(DType::f32) != GemmImplementation::onednn) GTEST_SKIP() << "only the library can refuse a product";
  Threads scope(2);
  std::vector<float> a(64 * 64, 1), b(64 * 64, 1), c(64 * 64, 0);
  GemmCall<float> call{.m = 64, .n = 64, .k = 64, .a = a.data(), .lda = 1, .b = b.data(), .ldb = 64, .c = c.data()};
  call.ldc = 64;  // the rows of A are longer than lda
  testing::expect_error(ErrorKind::device, {"[onednn]", "a matrix product"}, [&] { gemm(call); });
}

TEST(Matmul, RefusesShapesThatDoNotFitAndNamesBoth) {
  Bench bench(DType::f32);
  testing::expect_error(ErrorKind::user, {"[2, 3]", "[4, 5]"}, [&] {
    matmul(*bench.tape, bench.tensor({2, 3}, 1), bench.tensor({4, 5}, 2));
  });
  testing::expect_error(ErrorKind::user, {"two batches of matrices of one size"}, [&] {
    matmul(*bench.tape, bench.tensor({2, 2, 3}, 1), bench.tensor({3, 3, 5}, 2));
  });
}

TEST(Linear, IsTheProductWithTheTransposedWeightPlusBias) {
  Bench bench(DType::f32);
  Value y = linear(*bench.tape, bench.tensor({2, 3, 5}, 1), bench.tensor({4, 5}, 2), bench.tensor({4}, 3));
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4}));
  std::vector<double> expected = naive(1, 6, 4, 5, false, true, testing::numbers(30, 1), testing::numbers(20, 2)),
                      bias = testing::numbers(4, 3);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += bias[i % 4];
  EXPECT_LT(relative_error(y.tensor().to_doubles(), expected), 1e-6);
}

TEST(Linear, GradientsAgreeWithCentralDifferences) {
  for (bool with_bias : {false, true}) {
    Bench bench(DType::f64);
    LeafRef x = bench.leaf({2, 3, 4}, 1), w = bench.leaf({5, 4}, 2), b = bench.leaf({5}, 3);
    std::vector<LeafRef> leaves{x, w};
    if (with_bias) leaves.push_back(b);
    testing::expect_gradients(bench, leaves,
                              [&] { return with_bias ? linear(*bench.tape, x, w, b) : linear(*bench.tape, x, w); });
  }
}

TEST(Linear, GradientBitsDoNotDependOnThreads) {
  auto gradients = [](int threads) {
    Threads scope(threads);
    Bench bench(DType::f32);
    LeafRef x = bench.leaf({513, 96}, 1), w = bench.leaf({130, 96}, 2), b = bench.leaf({130}, 3);
    bench.tape->backward(bench.weigh(linear(*bench.tape, x, w, b)));
    return bytes_of(x->grad) + bytes_of(w->grad) + bytes_of(b->grad);
  };
  EXPECT_EQ(gradients(1), gradients(2));
}

}  // namespace
}  // namespace reprise
