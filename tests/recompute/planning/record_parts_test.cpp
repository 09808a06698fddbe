// The bytes that a write kills, parted by who owes them, against asking each row.
#include "recompute/planning/record_parts.h"

#include <gtest/gtest.h>

#include <map>

#include "core/allocator.h"
#include "memory/row_list.h"
#include "recompute/solver/random.h"

namespace reprise {
namespace {

TEST(RecordParts, AreTheRowsOfEachSetOfOwners) {
  solver::Random random(3);
  for (int round = 0; round < 40; ++round) {
    RecordParts parts;
    std::vector<Region> owed;
    std::map<std::int64_t, std::vector<std::size_t>> owners;  // per row
    for (std::size_t r = 0; r < 5; ++r) {
      std::vector<std::int64_t> rows;
      for (std::int64_t row = 0; row < 40; ++row) {
        if (!random.chance(0.4)) continue;
        rows.push_back(row);
        owners[row].push_back(r);
      }
      owed.push_back(Region::rows(0, 16, rows));
    }
    std::map<std::vector<std::size_t>, std::vector<std::int64_t>> expected;
    for (const auto& [row, set] : owners) expected[set].push_back(row);
    const std::vector<RecordPart>& found = parts.of(owed);
    ASSERT_EQ(found.size(), expected.size());
    for (const RecordPart& part : found) {
      Region region = Region::rows(0, 16, expected.at(part.owners));
      EXPECT_EQ(part.bytes, region.bytes());
      EXPECT_EQ(part.runs, static_cast<std::int64_t>(region.run_count()));
      EXPECT_EQ(part.charged, round_up_64(list_rows(region.runs()).block_bytes()));
    }
    EXPECT_EQ(&parts.of(owed), &found) << "known before";
    owed.pop_back();
    EXPECT_NE(&parts.of(owed), &found);
  }
}

}  // namespace
}  // namespace reprise
