#include "recompute/replay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/reduce.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

class Replay : public ::testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(Methods, Replay,
                         ::testing::Values(Method::retain, Method::whole, Method::region, Method::mixed),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(Replay, SeesTheStateThatTheForwardSaw) {
  Lab lab(GetParam());
  LeafRef x = lab.leaf({2}, {0.4, 0.7});
  Tensor b = lab.state({2}, {2.0, 3.0});
  Tape& t = *lab.tape;
  Value y = segment(t, "S", [&] { return sin(t, mul(t, sin(t, mul(t, x, b)), b)); });
  assign(t, b, 9.0);
  t.backward(y);
  for (int i = 0; i < 2; ++i) {
    double v = i ? 0.7 : 0.4, s = i ? 3.0 : 2.0;
    EXPECT_NEAR(Lab::gradient(x)[i], std::cos(std::sin(v * s) * s) * s * std::cos(v * s) * s, 1e-14);
  }
  EXPECT_EQ(b.to_doubles(), (std::vector<double>{9.0, 9.0}));
  EXPECT_EQ(lab.memory.preserver().live().reads, 0);
}

TEST_P(Replay, DrawsTheSameNumbersAndLeavesTheStreamAlone) {
  auto run = [](Method method) {
    Lab lab(method);
    Tape& t = *lab.tape;
    Stream stream{"r", 7, 0, 0};
    LeafRef x = lab.leaf({8}, std::vector<double>(8, 0.5));
    Value y = segment(t, "S", [&] { return sin(t, sin(t, dropout(t, stream, mul(t, x, 2.0), 0.5))); });
    EXPECT_EQ(stream.position, 8u);
    t.backward(y);
    EXPECT_EQ(stream.position, 8u);
    return Lab::gradient(x);
  };
  EXPECT_EQ(run(GetParam()), run(Method::retain));
}

TEST_P(Replay, NeverWritesStateAgain) {
  Lab lab(GetParam());
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({1}, {0.3});
  Tensor counter = lab.state({1}, {0.0});
  Value y = segment(t, "S", [&] {
    Value h = sin(t, x);
    add_into(t, counter, 1.0);
    Value c = copy(t, counter);
    return sin(t, mul(t, h, c));
  });
  t.backward(y);
  EXPECT_EQ(counter.to_doubles()[0], 1.0);
  EXPECT_NEAR(Lab::gradient(x)[0], std::cos(std::sin(0.3)) * std::cos(0.3), 1e-15);
}

// A segment reads rows {1,2,3}, writes {2,3}, reads {3,4}; later {1,3,4} are written; then its backward. Either the
// reads are copies that a replay makes again, or views of the table's own rows that the formulas of the products save.
struct RowsCase {
  std::vector<double> gradient, table_before, table_after;
};

RowsCase run_rows_case(Method method, bool formulas_save, const std::vector<double>& table,
                       const std::vector<double>& x_values) {
  Lab lab(method);
  Tape& t = *lab.tape;
  Tensor m = lab.state({6, 2}, table);
  LeafRef x = lab.leaf({3, 2}, x_values);
  Value y = segment(t, "S", [&] {
    Value h =
        formulas_save ? mul(t, x, slice(t, m, 0, 1, 4)) : sin(t, add(t, x, gather_rows(t, m, lab.indices({1, 2, 3}))));
    assign_rows(t, m, lab.indices({2, 3}), -0.5);
    Value part = slice(t, h, 0, 0, 2);
    Value k = formulas_save ? mul(t, part, slice(t, m, 0, 3, 5))
                            : sin(t, add(t, part, gather_rows(t, m, lab.indices({3, 4}))));
    return sin(t, k);
  });
  assign_rows(t, m, lab.indices({1, 3, 4}), 5.0);
  RowsCase result{{}, m.to_doubles(), {}};
  t.backward(y);
  result.table_after = m.to_doubles();
  result.gradient = Lab::gradient(x);
  return result;
}

TEST_P(Replay, RowsReadWrittenReadAndWrittenAgain) {
  std::vector<double> table;
  for (int i = 0; i < 12; ++i) table.push_back(0.1 * i + 0.05);
  const std::vector<double> x = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  for (bool formulas_save : {false, true}) {
    RowsCase run = run_rows_case(GetParam(), formulas_save, table, x);
    EXPECT_EQ(run.table_after, run.table_before);
    for (std::size_t i = 0; i < 4; ++i) {  // rows 1 and 2, then rows 3 (written) and 4
      double first = table[2 + i], second = i < 2 ? -0.5 : table[6 + i];
      double u = x[i] + first, v = std::sin(u) + second;
      double expected = formulas_save ? std::cos(x[i] * first * second) * second * first
                                      : std::cos(std::sin(v)) * std::cos(v) * std::cos(u);
      EXPECT_NEAR(run.gradient[i], expected, 1e-14) << formulas_save << ", element " << i;
    }
    EXPECT_EQ(run.gradient[4], 0.0);
    EXPECT_EQ(run.gradient[5], 0.0);
    EXPECT_EQ(run.gradient, run_rows_case(Method::retain, formulas_save, table, x).gradient) << formulas_save;
  }
}

TEST_P(Replay, InPlaceWritesToPrivateValuesAreRepeatedOnPrivateMemory) {
  auto run = [](Method method) {
    Lab lab(method);
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({2}, {0.3, 0.9});
    Value y = segment(t, "S", [&] {
      Value h = sin(t, x);
      Value early = mul(t, h, h);
      mul_into(t, h, 3.0);
      add_into(t, h, early);
      return mul(t, sin(t, h), early);
    });
    t.backward(y);
    return Lab::gradient(x);
  };
  EXPECT_EQ(run(GetParam()), run(Method::retain));
}

TEST_P(Replay, ArgumentOverwrittenInsideTheSegment) {
  auto run = [](Method method) {
    Lab lab(method);
    Tape& t = *lab.tape;
    LeafRef a = lab.leaf({2}, {0.3, 0.9});
    Value x = mul(t, a, 1.5);
    Value y = segment(t, "S", [&] {
      mul_into(t, x, 2.0);
      return sin(t, sin(t, x));
    });
    Value z = mul(t, y, x);
    t.backward(z);
    return Lab::gradient(a);
  };
  EXPECT_EQ(run(GetParam()), run(Method::retain));
}

TEST_P(Replay, TwoBackwardsOverOneGraph) {
  auto run = [](Method method) {
    Lab lab(method);
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({2}, {0.3, 0.9});
    Tensor b = lab.state({2}, {2.0, 3.0});
    Value y = segment(t, "S", [&] { return sin(t, mul(t, sin(t, x), b)); });
    t.backward(y, true);
    add_into(t, b, 1.0);
    t.backward(y);
    EXPECT_EQ(lab.memory.preserver().live().reads, 0);
    return Lab::gradient(x);
  };
  EXPECT_EQ(run(GetParam()), run(Method::retain));
}

TEST(ReplayCost, DroppedSegmentHoldsOnlyItsBoundary) {
  auto held = [](Method method) {
    Lab lab(method);
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({1000}, std::vector<double>(1000, 0.1));
    std::int64_t before = lab.memory.meter().live(Category::activations);
    Value y = segment(t, "S", [&] {
      Value h = sin(t, x);
      for (int i = 0; i < 9; ++i) h = sin(t, h);
      return h;
    });
    return lab.memory.meter().live(Category::activations) - before;
  };
  EXPECT_EQ(held(Method::whole), 8000);
  EXPECT_EQ(held(Method::retain), 80000);
}

TEST(ReplayCost, AReplayedSegmentWritesOverWhatItsReplayWillMakeAgain) {
  struct Found {
    std::int64_t peak;
    std::vector<double> gradient;
  };
  auto run = [](Method method) {
    Lab lab(method);
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({1000}, std::vector<double>(1000, 0.1));
    std::int64_t before = lab.memory.meter().live();
    lab.memory.meter().reset_peak();
    Value y = segment(t, "S", [&] {
      Value h = sin(t, x);
      for (int i = 0; i < 9; ++i) h = sin(t, std::move(h));  // whose formula saves its operand
      return h;
    });
    std::int64_t peak = lab.memory.meter().peak() - before;
    t.backward(y);
    return Found{peak, Lab::gradient(x)};
  };
  Found whole = run(Method::whole), retain = run(Method::retain);
  EXPECT_EQ(whole.peak, 8000);
  EXPECT_EQ(retain.peak, 80000);
  EXPECT_EQ(whole.gradient, retain.gradient);
}

TEST(ReplayCost, RegionKeepsOnlyTheRowsThatAreOverwritten) {
  Lab lab(Method::region);
  Tape& t = *lab.tape;
  Tensor m = lab.state({1000, 16}, std::vector<double>(16000, 0.5));
  LeafRef x = lab.leaf({2, 16}, std::vector<double>(32, 0.1));
  Value y = segment(t, "S", [&] { return sin(t, sin(t, mul(t, x, gather_rows(t, m, lab.indices({10, 500}))))); });
  assign_rows(t, m, lab.indices({500, 501, 502}), 1.0);
  EXPECT_EQ(lab.memory.preserver().live().block_bytes, 16 * 8);
  t.backward(y);
  EXPECT_EQ(lab.memory.meter().live(Category::preserved), 0);
}

TEST(ReplayControl, UncheckedReplayIsWrongWhereStateMoved) {
  auto run = [](Method method) {
    Lab lab(method);
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({1}, {1.0});
    Tensor b = lab.state({1}, {2.0});
    Value y = segment(t, "S", [&] { return sin(t, mul(t, x, b)); });
    assign(t, b, 5.0);
    t.backward(y);
    return Lab::gradient(x);
  };
  EXPECT_NE(run(Method::unchecked), run(Method::retain));
}

}  // namespace
}  // namespace reprise
