// Which writes of a step take which bytes of an earlier read.
#include "recompute/planning/kills.h"

#include <gtest/gtest.h>

#include "ops/arithmetic.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

constexpr std::int64_t kRowBytes = 2 * sizeof(double);

/// Node numbers of an op, in order.
std::vector<std::uint32_t> nodes_of(const Tape& tape, const std::string& op) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t n = 0; n < tape.data().nodes.size(); ++n) {
    if (tape.data().nodes[n].op->name == op) found.push_back(n);
  }
  return found;
}

TEST(Kills, AReadLosesToEachLaterWriteWhatNoEarlierOneTook) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor table = lab.state({4, 2}, std::vector<double>(8, 0.5));
  table.storage().set_name("table");
  assign_rows(t, table, lab.indices({0}), 1.0);  // before the read
  Value read = gather_rows(t, table, lab.indices({0, 1, 2}));
  Value kept = mul(t, x, read);
  assign_rows(t, table, lab.indices({1, 3}), 2.0);
  assign_rows(t, table, lab.indices({1, 2}), 3.0);

  std::vector<std::uint32_t> reads = nodes_of(t, "gather_rows"), writes = nodes_of(t, "assign_rows");
  ASSERT_EQ(reads.size(), 1u);
  ASSERT_EQ(writes.size(), 3u);
  Kills kills(t);
  WalkedRead walked{reads[0], 0, 0, table.storage().serial()};
  std::vector<KilledPart> parts = kills.of(walked);
  ASSERT_EQ(parts.size(), 2u) << "row 0 stays live, and row 3 was never read";
  EXPECT_EQ(parts[0].write, (KillingWrite{writes[1], 0}));
  EXPECT_EQ(parts[0].part, Region::span(kRowBytes, 2 * kRowBytes));
  EXPECT_EQ(parts[1].write, (KillingWrite{writes[2], 0}));
  EXPECT_EQ(parts[1].part, Region::span(2 * kRowBytes, 3 * kRowBytes));
  EXPECT_EQ(kills.storage(walked).name, "table");
  EXPECT_EQ(kills.storage(walked).bytes, table.storage().bytes());
}

TEST(Kills, StateThatNobodyWritesLaterLosesNothing) {
  Lab lab;
  Tape& t = *lab.tape;
  LeafRef x = lab.leaf({1, 2}, {1, 2});
  Tensor table = lab.state({4, 2}, std::vector<double>(8, 0.5));
  assign_rows(t, table, lab.indices({1}), 1.0);
  Value kept = mul(t, x, gather_rows(t, table, lab.indices({1})));
  EXPECT_TRUE(Kills(t).of({nodes_of(t, "gather_rows").at(0), 0, 0, table.storage().serial()}).empty());
}

}  // namespace
}  // namespace reprise
