#include "ops/draws.h"

#include <gtest/gtest.h>

#include "core/parallel.h"
#include "ops/unary.h"
#include "tests/support/errors.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;
using Numbers = std::vector<double>;

TEST(Draws, UniformGivesTheNumbersOfTheFormat) {
  Lab lab;
  Stream stream{"s", 7, 0, 0};
  Numbers first = uniform(*lab.tape, stream, {6}, DType::f64).tensor().to_doubles();
  const double kWant[] = {0.95459712, 0.75015217, 0.11417735, 0.08565784, 0.40696037, 0.79528403};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(first[i], kWant[i], 1e-8);
  EXPECT_EQ(stream.position, 6u);
  Stream wide{"w", 4294967301u, 3, 2};
  Numbers second = uniform(*lab.tape, wide, {3}).tensor().to_doubles();
  const double kWide[] = {0.39425069, 0.06023204, 0.28003716};
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(second[i], kWide[i], 1e-7);
}

TEST(Draws, SplitDrawsGiveTheNumbersOfOne) {
  Lab lab;
  Stream one{"s", 9, 1, 3}, parts{"s", 9, 1, 3};
  Numbers whole = uniform(*lab.tape, one, {20000}).tensor().to_doubles(), joined;
  for (std::int64_t n : {1, 2, 9997, 10000}) {
    for (double u : uniform(*lab.tape, parts, {n}).tensor().to_doubles()) joined.push_back(u);
  }
  EXPECT_EQ(whole, joined);
}

TEST(Draws, NormalTakesPairsAndLooksNormal) {
  Lab lab;
  Stream stream{"s", 3, 0, 1};
  Numbers odd = normal(*lab.tape, stream, {5}).tensor().to_doubles();
  EXPECT_EQ(stream.position, 7u);
  auto [a, b] = normal_pair(philox_word(3, 0, 3), philox_word(3, 0, 4));
  EXPECT_EQ(odd[2], a);
  EXPECT_EQ(odd[3], b);
  double mean = 0, square = 0;
  Numbers many = normal(*lab.tape, stream, {100001}).tensor().to_doubles();
  for (double x : many) mean += x / 100001, square += x * x / 100001;
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(square, 1, 0.02);
}

TEST(Dropout, KeepsWhatTheStreamSaysAndScalesIt) {
  for (int threads : {1, 2}) {
    set_thread_count(threads);
    Lab lab;
    Tape& t = *lab.tape;
    Stream stream{"s", 5, 2, 11};
    LeafRef x = lab.leaf({20001}, Numbers(20001, 3.0));
    Value y = dropout(t, stream, neg(t, x), 0.3);
    Numbers out = y.tensor().to_doubles();
    for (std::uint64_t i = 0; i < 20001; ++i) {
      bool kept = uniform_from_word(philox_word(5, 2, 11 + i)) >= 0.3;
      ASSERT_EQ(out[i], kept ? -3.0 / (1.0 - 0.3) : 0.0) << i;
    }
    t.backward(y);
    Numbers g = Lab::gradient(x);
    for (std::size_t i = 0; i < 20001; ++i) ASSERT_EQ(g[i] != 0, out[i] != 0) << i;
    EXPECT_EQ(stream.position, 11u + 20001u);
  }
  set_thread_count(2);
}

TEST(Dropout, RefusesAProbabilityOfOne) {
  Lab lab;
  Stream stream{"s", 5, 2, 0};
  testing::expect_error(ErrorKind::user, {"a probability in [0, 1), got 1"}, [&] {
    dropout(*lab.tape, stream, lab.state({2}, {1, 2}), 1.0);
  });
  EXPECT_EQ(stream.position, 0u);
}

}  // namespace
}  // namespace reprise
