#include "models/layers/draws.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/error.h"
#include "core/parallel.h"
#include "ops/philox_fill.h"

namespace reprise {
namespace {

constexpr std::int64_t kBlock = 4096;  // words drawn at a time; even, since normal numbers come in pairs

DrawRange range_of(const Stream& stream) { return {stream.seed, stream.id, stream.position, 0}; }

/// A number of [0, n) from a word: the words are shared out evenly up to n / 2^32.
std::int64_t below(std::uint32_t word, std::int64_t n) {
  return static_cast<std::int64_t>((std::uint64_t{word} * static_cast<std::uint64_t>(n)) >> 32);
}

std::vector<std::uint32_t> draw_words(const Stream& stream, std::int64_t count) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
  fill_words(range_of(stream), 0, count, words.data());
  return words;
}

}  // namespace

void fill_normal(const Tensor& to, const Stream& stream, float scale) {
  std::span<float> values = to.host_write<float>("initialise");
  auto count = static_cast<std::int64_t>(values.size());
  parallel_blocks(count, kBlock, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t words[kBlock];
    fill_words(range_of(stream), begin, (end - begin + 1) / 2 * 2, words);
    for (std::int64_t i = begin; i < end; i += 2) {
      auto [a, b] = normal_pair(words[i - begin], words[i - begin + 1]);
      values[static_cast<std::size_t>(i)] = scale * a;
      if (i + 1 < end) values[static_cast<std::size_t>(i + 1)] = scale * b;
    }
  });
}

std::vector<std::int64_t> draw_rows(const Stream& stream, std::int64_t count, std::int64_t rows, double skew) {
  std::vector<std::int64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(count));
  for (std::uint32_t word : draw_words(stream, count)) {
    if (skew == 1) {
      drawn.push_back(below(word, rows));
    } else {
      double u = std::pow(static_cast<double>(word) * 0x1p-32, skew);
      drawn.push_back(std::min(static_cast<std::int64_t>(u * static_cast<double>(rows)), rows - 1));
    }
  }
  return drawn;
}

std::vector<std::int64_t> draw_distinct_rows(const Stream& stream, std::int64_t count, std::int64_t rows) {
  REPRISE_INVARIANT(count <= rows);
  // The first steps of a shuffle (Fisher and Yates) of all rows, of which only those out of place are held: a table may
  // be far larger than what is drawn.
  std::unordered_map<std::int64_t, std::int64_t> displaced;
  auto row_at = [&](std::int64_t place) {
    auto found = displaced.find(place);
    return found == displaced.end() ? place : found->second;
  };
  std::vector<std::uint32_t> words = draw_words(stream, count);
  std::vector<std::int64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t other = i + below(words[static_cast<std::size_t>(i)], rows - i);
    drawn.push_back(row_at(other));
    displaced[other] = row_at(i);
  }
  return drawn;
}

Tensor make_index(Memory& memory, const std::string& name, const Shape& shape, const std::vector<std::int64_t>& rows) {
  Tensor index = make_tensor(memory.backed_allocator(), memory.observer(), DType::i64, shape, Category::data);
  std::span<std::int64_t> values = index.host_write<std::int64_t>("initialise");
  REPRISE_INVARIANT(values.size() == rows.size());
  std::copy(rows.begin(), rows.end(), values.begin());
  index.storage().set_name(name);
  index.storage().mark_constant();
  return index;
}

}  // namespace reprise
