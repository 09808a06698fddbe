// Rows drawn without repeats: the same as a plain shuffle gives, at the cost of what is drawn.
#include "models/layers/draws.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "ops/philox_fill.h"

namespace reprise {
namespace {

/// The beginning of a plain shuffle (Fisher and Yates) of all rows by the words of the stream.
std::vector<std::int64_t> shuffled(const Stream& stream, std::int64_t count, std::int64_t rows) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  fill_words({stream.seed, stream.id, stream.position, 0}, 0, count, words.data());
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t left = static_cast<std::uint64_t>(rows - i), word = words[static_cast<std::size_t>(i)];
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(i) + ((word * left) >> 32)]);
  }
  all.resize(static_cast<std::size_t>(count));
  return all;
}

TEST(DistinctRows, AreThoseOfAPlainShuffle) {
  for (auto [count, rows] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {5, 5}, {7, 100}, {64, 65}, {983, 98304}}) {
    Stream stream = Stream{"rows", 3, 7, 0};
    std::vector<std::int64_t> drawn = draw_distinct_rows(stream, count, rows);
    EXPECT_EQ(drawn, shuffled(stream, count, rows)) << count << " of " << rows;
    EXPECT_EQ(std::set<std::int64_t>(drawn.begin(), drawn.end()).size(), drawn.size());
  }
}

TEST(DistinctRows, OfAHugeTableCostWhatIsDrawn) {
  constexpr std::int64_t kRows = std::int64_t{1} << 40;  // a list of them all would take 8 TiB
  std::vector<std::int64_t> drawn = draw_distinct_rows(Stream{"rows", 3, 7, 0}, 100, kRows);
  ASSERT_EQ(drawn.size(), 100u);
  for (std::int64_t row : drawn) EXPECT_TRUE(row >= 0 && row < kRows) << row;
}

}  // namespace
}  // namespace reprise
