#include "ops/dropout_loop.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "core/philox.h"

namespace reprise {
namespace {

TEST(DropFloats, KeepsByTheWordsOfTheStreamAtEveryPlaceInACounterBlock) {
  for (std::uint64_t position : {0ull, 1ull, 2ull, 3ull, 4ull * 0xfffffff8ull + 1}) {
    for (std::int64_t count : {0, 1, 3, 4, 63, 64, 127, 128, 129, 1027}) {
      for (std::uint32_t threshold : {0u, 1u, 1677722u, 16777215u, 16777216u}) {
        DrawRange draw{0x123456789abcdefull, 0xfedcba9876543210ull, position, 0};
        std::vector<float> x(static_cast<std::size_t>(count) + 1), y(x.size(), 7.0f);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6.5f;
        drop_floats(draw, 5, count, threshold, 1.25f, x.data(), y.data());
        for (std::int64_t i = 0; i < count; ++i) {
          std::uint32_t word = philox_word(draw.seed, draw.id, position + 5 + static_cast<std::uint64_t>(i));
          float want = (word >> 8) >= threshold ? x[i] * 1.25f : 0.0f;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(want))
              << position << " " << count << " " << i;
        }
        ASSERT_EQ(y[count], 7.0f) << "wrote beyond its end";
        drop_floats(draw, 5, count, threshold, 1.25f, x.data(), x.data());
        y[count] = x[count];
        ASSERT_EQ(x, y) << "in place";
      }
    }
  }
}

}  // namespace
}  // namespace reprise
