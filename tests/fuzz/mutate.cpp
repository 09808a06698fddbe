#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "core/philox.h"

namespace reprise::fuzz {

namespace {

constexpr std::size_t kLongest = 1 << 16;
constexpr std::array<const char*, 14> kNumbers = {"0",
                                                  "-1",
                                                  "1",
                                                  "63",
                                                  "64",
                                                  "2147483648",
                                                  "4294967296",
                                                  "1e308",
                                                  "1e999",
                                                  "0.5",
                                                  "-0",
                                                  "9223372036854775807",
                                                  "9223372036854775808",
                                                  "18446744073709551616"};

std::ptrdiff_t at(std::uint64_t i) { return static_cast<std::ptrdiff_t>(i); }

}  // namespace

Mutator::Mutator(std::vector<Bytes> corpus, std::vector<std::string> words, std::uint64_t seed)
    : corpus_(std::move(corpus)), words_(std::move(words)), seed_(seed) {}

std::uint64_t Mutator::below(std::uint64_t limit) { return limit <= 1 ? 0 : philox_word(seed_, 17, drawn_++) % limit; }

Bytes Mutator::next() {
  Bytes bytes = corpus_[below(corpus_.size())];
  for (std::uint64_t changes = 1 + below(4); changes > 0; --changes) change(bytes);
  if (bytes.size() > kLongest) bytes.resize(kLongest);
  return bytes;
}

void Mutator::change(Bytes& bytes) {
  switch (below(9)) {
    case 0:
      if (!bytes.empty()) bytes[below(bytes.size())] ^= static_cast<std::uint8_t>(1u << below(8));
      return;
    case 1:
      if (!bytes.empty()) bytes[below(bytes.size())] = static_cast<std::uint8_t>(below(256));
      return;
    case 2: {
      const std::string& word = words_[below(words_.size())];
      return insert(bytes, Bytes(word.begin(), word.end()));
    }
    case 3: {
      std::uint64_t from = below(bytes.size() + 1), count = below(std::min<std::uint64_t>(bytes.size() - from, 64) + 1);
      bytes.erase(bytes.begin() + at(from), bytes.begin() + at(from + count));
      return;
    }
    case 4: return change_number(bytes);
    case 5: return move_piece(bytes);
    case 6: return cross(bytes);
    case 7: {  // the same piece many times
      std::uint64_t from = below(bytes.size() + 1), count = below(std::min<std::uint64_t>(bytes.size() - from, 16) + 1);
      Bytes piece(bytes.begin() + at(from), bytes.begin() + at(from + count)), many;
      for (std::uint64_t n = below(40); n > 0; --n) many.insert(many.end(), piece.begin(), piece.end());
      return insert(bytes, many);
    }
    default: bytes.resize(below(bytes.size() + 1)); return;
  }
}

void Mutator::insert(Bytes& bytes, const Bytes& what) {
  bytes.insert(bytes.begin() + at(below(bytes.size() + 1)), what.begin(), what.end());
}

/// Another number in place of one in the text.
void Mutator::change_number(Bytes& bytes) {
  auto digit = [](std::uint8_t c) { return std::isdigit(c) != 0; };
  auto from = bytes.begin() + at(below(bytes.size() + 1));
  auto begin = std::find_if(from, bytes.end(), digit);
  if (begin == bytes.end()) return;
  auto end = std::find_if_not(begin, bytes.end(), digit);
  const char* number = kNumbers[below(kNumbers.size())];
  auto place = bytes.erase(begin, end);
  bytes.insert(place, number, number + std::strlen(number));
}

void Mutator::move_piece(Bytes& bytes) {
  std::uint64_t from = below(bytes.size() + 1), count = below(std::min<std::uint64_t>(bytes.size() - from, 200) + 1);
  Bytes piece(bytes.begin() + at(from), bytes.begin() + at(from + count));
  if (below(2) == 0) bytes.erase(bytes.begin() + at(from), bytes.begin() + at(from + count));
  insert(bytes, piece);
}

/// The head of this one and the tail of another.
void Mutator::cross(Bytes& bytes) {
  const Bytes& other = corpus_[below(corpus_.size())];
  bytes.resize(below(bytes.size() + 1));
  bytes.insert(bytes.end(), other.begin() + at(below(other.size() + 1)), other.end());
}

}  // namespace reprise::fuzz
