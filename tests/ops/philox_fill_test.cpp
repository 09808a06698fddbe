#include "ops/philox_fill.h"

#include <gtest/gtest.h>

#include <vector>

namespace reprise {
namespace {

TEST(FillWords, GivesTheWordsOfTheStreamOneByOne) {
  // Starts at every place in a counter block, across a carry of the counter's low half, and with wide keys and ids.
  for (std::uint64_t position : {0ull, 1ull, 2ull, 3ull, 61ull, 4ull * 0xfffffff8ull + 1}) {
    for (std::int64_t count : {0, 1, 3, 4, 5, 63, 64, 65, 130, 1027}) {
      DrawRange draw{0x123456789abcdefull, 0xfedcba9876543210ull, position, 0};
      std::vector<std::uint32_t> words(static_cast<std::size_t>(count) + 1, 7u);
      fill_words(draw, 5, count, words.data());
      for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(words[i], philox_word(draw.seed, draw.id, position + 5 + i)) << position << " " << count << " " << i;
      }
      EXPECT_EQ(words[count], 7u) << "wrote beyond its end";
    }
  }
}

}  // namespace
}  // namespace reprise
