#include "ops/group_norm.h"

#include <gtest/gtest.h>

#include "ops/unary.h"
#include "tests/ops/network_check.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using testing::Bench;
using testing::bytes_of;
using testing::relative_error;
using testing::Threads;

// What PyTorch 2.15 gives in f64 for group_norm(x, 2 groups, gamma, beta, eps 1e-5) on [2, 4, 2, 1], here channels
// last, and for the gradients of sum(y * weights).
TEST(GroupNorm, AgreesWithPyTorch) {
  std::vector<double> x, weights;
  for (int i = 0; i < 16; ++i) {
    x.push_back((7 * i % 11) / 4.0 - 1);
    weights.push_back((5 * i % 7) / 3.0 - 1);
  }
  Bench bench(DType::f64);
  LeafRef leaf = bench.leaf({2, 2, 1, 4}, x), gamma = bench.leaf({4}, {1, 0.5, 2, -1}),
          beta = bench.leaf({4}, {0, 1, -1, 0.25});
  Value y = group_norm(*bench.tape, leaf, 2, gamma, beta);
  EXPECT_LT(relative_error(y.tensor().to_doubles(), {-1.31054327975, 1.56790208789, -3.62108655949, -0.88580417578,
                                                     0.786325967847, 0.694206568059, 0.572651935695, 0.861586863881,
                                                     -1.31054327975, 1.56790208789, -1.55469678272, 1.63674195679,
                                                     0.786325967847, 0.694206568059, 1.77348391359, -0.0273483913585}),
            1e-10);
  bench.tape->backward(sum(*bench.tape, mul(*bench.tape, y, bench.tensor({2, 2, 1, 4}, weights))));
  EXPECT_LT(relative_error(leaf->grad.to_doubles(), {-0.485555853509, -0.650918097951, -0.522880036993, 0.732745265073,
                                                     0.570916078451, 0.565557873009, -1.17737899832, 0.967513770235,
                                                     0.407284508756, -0.0889297060397, -0.184897789747, -0.184893238445,
                                                     0.314794427438, -0.633149230154, -0.369803544272, 0.739594572464}),
            1e-10);
  EXPECT_LT(relative_error(gamma->grad.to_doubles(), {1.48528238371, 0.757202783853, -1.46395168517, -1.34745894919}),
            1e-10);
  EXPECT_LT(relative_error(beta->grad.to_doubles(), {1, 2.0 / 3, -2, 0}), 1e-10);
}

TEST(GroupNorm, BitsDoNotDependOnThreads) {
  auto bits = [](int threads) {
    Threads scope(threads);
    Bench bench(DType::f32);
    LeafRef x = bench.leaf({9, 7, 7, 24}, 1), gamma = bench.leaf({24}, 2), beta = bench.leaf({24}, 3);
    bench.tape->backward(bench.weigh(group_norm(*bench.tape, x, 3, gamma, beta)));
    return bytes_of(x->grad) + bytes_of(gamma->grad) + bytes_of(beta->grad);
  };
  EXPECT_EQ(bits(1), bits(2));
}

TEST(GroupNorm, RefusesGroupsThatDoNotDivideTheChannels) {
  Bench bench(DType::f32);
  Tensor x = bench.tensor({2, 3, 6}, 1), gamma = bench.tensor({6}, 2), beta = bench.tensor({6}, 3);
  testing::expect_error(ErrorKind::user, {"channels in 4 equal groups"},
                        [&] { group_norm(*bench.tape, x, 4, gamma, beta); });
  testing::expect_error(ErrorKind::user, {"channels in 0 equal groups"},
                        [&] { group_norm(*bench.tape, x, 0, gamma, beta); });
  testing::expect_error(ErrorKind::user, {"expected gamma and beta [6]"},
                        [&] { group_norm(*bench.tape, x, 2, bench.tensor({5}, 2), beta); });
}

TEST(Silu, AgreesWithPyTorch) {
  Bench bench(DType::f64);
  LeafRef x = bench.leaf({5}, {-3, -0.5, 0, 1.25, 4});
  Value y = silu(*bench.tape, x);
  EXPECT_LT(
      relative_error(y.tensor().to_doubles(), {-0.142277619533, -0.188770334399, 0, 0.971624826468, 3.92805516015}),
      1e-10);
  bench.tape->backward(sum(*bench.tape, y));
  EXPECT_LT(
      relative_error(x->grad.to_doubles(), {-0.0881041060152, 0.260038812697, 0.5, 0.993680844915, 1.05266461489}),
      1e-10);
}

}  // namespace
}  // namespace reprise
