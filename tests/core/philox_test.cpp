#include "core/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/stream.h"

namespace reprise {
namespace {

std::vector<std::uint32_t> words(PhiloxWords block) { return {block.w, block.w + 4}; }

using Words = std::vector<std::uint32_t>;

// Known answers of the generator's authors (Random123, kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, AgreesWithThePublishedVectors) {
  constexpr std::uint32_t kOnes = 0xffffffffu;
  EXPECT_EQ(words(philox4x32({{0, 0, 0, 0}}, 0, 0)), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(philox4x32({{kOnes, kOnes, kOnes, kOnes}}, kOnes, kOnes)),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0)),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Printed with eight decimals, so equal to half a unit of the last one.
void expect_uniforms(std::uint64_t seed, std::uint64_t id, std::uint64_t first, const std::vector<double>& want) {
  DrawRange range{seed, id, first, want.size()};
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(range.uniform(i)), want[i], 0.6e-8) << "position " << first + i;
  }
}

TEST(Philox, StreamsGiveThePublishedNumbers) {
  expect_uniforms(7, 0, 0, {0.95459712, 0.75015217, 0.11417735, 0.08565784, 0.40696037, 0.79528403});
  expect_uniforms(4294967301u, 3, 2, {0.39425069, 0.06023204, 0.28003716});
}

TEST(Philox, SeedIdAndBlockUseAllTheirBits) {
  constexpr std::uint64_t kHigh = std::uint64_t{1} << 40;
  Words base = words(philox_block(1, 2, 3));
  EXPECT_EQ(words(philox_block(1, 2, 3)), base);
  EXPECT_NE(words(philox_block(1 + kHigh, 2, 3)), base);
  EXPECT_NE(words(philox_block(1, 2 + kHigh, 3)), base);
  EXPECT_NE(words(philox_block(1, 2, 3 + kHigh)), base);
}

TEST(Philox, AWordIsAddressedByItsPositionAlone) {
  for (std::uint64_t position = 0; position < 40; ++position) {
    EXPECT_EQ(philox_word(11, 5, position), philox_block(11, 5, position / 4).w[position % 4]) << position;
  }
}

TEST(Philox, UniformNumbersAreExactMultiplesBelowOne) {
  EXPECT_EQ(uniform_from_word(0), 0.0f);
  EXPECT_EQ(uniform_from_word(0xffu), 0.0f);
  EXPECT_EQ(uniform_from_word(0x100u), 0x1p-24f);
  EXPECT_EQ(uniform_from_word(0xffffffffu), 1.0f - 0x1p-24f);
}

TEST(Stream, TakeReturnsTheFirstPositionAndMovesOn) {
  Stream stream{"augment", 7, 1, 0};
  EXPECT_EQ(stream.take(5), 0u);
  EXPECT_EQ(stream.take(0), 5u);
  EXPECT_EQ(stream.take(3), 5u);
  EXPECT_EQ(stream.position, 8u);
}

TEST(Stream, NormalNumbersAreFiniteForEveryExtremeWordAndHaveTheRightMoments) {
  for (std::uint32_t a : {0u, 0xffffffffu}) {
    for (std::uint32_t b : {0u, 0x80000000u, 0xffffffffu}) {
      auto [x, y] = normal_pair(a, b);
      EXPECT_TRUE(std::isfinite(x) && std::isfinite(y)) << a << " " << b;
    }
  }
  constexpr int kPairs = 20000;
  double sum = 0, squares = 0, product = 0;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    auto [x, y] = normal_pair(philox_word(3, 9, 2 * i), philox_word(3, 9, 2 * i + 1));
    sum += x + y;
    squares += x * x + y * y;
    product += x * y;
  }
  // Five standard errors of each estimate.
  EXPECT_NEAR(sum / (2 * kPairs), 0.0, 5 / std::sqrt(2.0 * kPairs));
  EXPECT_NEAR(squares / (2 * kPairs), 1.0, 5 * std::sqrt(2.0 / (2 * kPairs)));
  EXPECT_NEAR(product / kPairs, 0.0, 5 / std::sqrt(1.0 * kPairs));
}

}  // namespace
}  // namespace reprise
