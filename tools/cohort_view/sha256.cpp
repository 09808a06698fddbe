#include "tools/cohort_view/sha256.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace reprise::cohort {
namespace {

using State = std::array<std::uint32_t, 8>;

/// The first 32 bits of the fraction of a root of the n-th prime: square roots start the state, cube roots are the
/// constants of the rounds. A long double holds 64 bits of the root, of which at most 9 stand before the point.
std::uint32_t fraction(long double root) {
  long double part = root - std::floor(root);
  return static_cast<std::uint32_t>(part * 4294967296.0L);
}

struct Constants {
  State start{};
  std::array<std::uint32_t, 64> rounds{};
  Constants() {
    std::size_t found = 0;
    for (int n = 2; found < rounds.size(); ++n) {
      bool prime = true;
      for (int d = 2; d * d <= n; ++d) prime &= n % d != 0;
      if (!prime) continue;
      if (found < start.size()) start[found] = fraction(std::sqrt(static_cast<long double>(n)));
      rounds[found++] = fraction(std::cbrt(static_cast<long double>(n)));
    }
  }
};

void add_block(State& state, const std::uint8_t* block, const Constants& constants) {
  std::array<std::uint32_t, 64> w;
  for (int i = 0; i < 16; ++i) {
    const std::uint8_t* p = block + 4 * i;
    w[i] = std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
  }
  for (int i = 16; i < 64; ++i) {
    std::uint32_t low = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    std::uint32_t high = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    std::uint32_t sum_e = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    std::uint32_t t1 = h + sum_e + ((e & f) ^ (~e & g)) + constants.rounds[i] + w[i];
    std::uint32_t sum_a = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    std::uint32_t t2 = sum_a + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  State added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

}  // namespace

std::string sha256(std::span<const std::uint8_t> bytes) {
  static const Constants constants;
  State state = constants.start;
  std::size_t whole = bytes.size() / 64 * 64;
  for (std::size_t at = 0; at < whole; at += 64) add_block(state, bytes.data() + at, constants);
  // The rest, a one bit, zeros, and the length in bits as the last eight bytes of a block.
  std::vector<std::uint8_t> rest(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end());
  rest.push_back(0x80);
  while (rest.size() % 64 != 56) rest.push_back(0);
  std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) rest.push_back(static_cast<std::uint8_t>(bits >> shift));
  for (std::size_t at = 0; at < rest.size(); at += 64) add_block(state, rest.data() + at, constants);
  std::string text;
  for (std::uint32_t word : state) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace reprise::cohort
