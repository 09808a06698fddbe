// Attributes of one node: a short inline list of 64-bit words, read by position as the op's contract declares them.
//
// Inline, so that recording a node never allocates; plain words, so that contracts hash and print them without knowing
// the op. Reals are stored by their bits; a list of integers as its length followed by its members.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.h"
#include "core/shape.h"

namespace reprise {

class Attrs {
 public:
  static constexpr int kMaxWords = 16;

  Attrs& add(std::int64_t value) {
    if (count_ == kMaxWords) fail(ErrorKind::internal, "[attrs] expected at most {} words, got more", kMaxWords);
    words_[count_++] = value;
    return *this;
  }
  Attrs& add(int value) { return add(static_cast<std::int64_t>(value)); }
  Attrs& add(bool value) { return add(static_cast<std::int64_t>(value)); }
  Attrs& add(double value) { return add(std::bit_cast<std::int64_t>(value)); }
  Attrs& add(const Dims& dims) {
    add(dims.size());
    for (std::int64_t d : dims) add(d);
    return *this;
  }

  std::int64_t integer(int at) const { return words_[at]; }
  bool flag(int at) const { return words_[at] != 0; }
  double real(int at) const { return std::bit_cast<double>(words_[at]); }
  /// The list that starts at word `at`.
  Dims dims(int at) const { return Dims(std::span(words_.data() + at + 1, static_cast<std::size_t>(words_[at]))); }
  /// Number of words of the list that starts at `at`, its length included.
  int dims_words(int at) const { return static_cast<int>(words_[at]) + 1; }

  int word_count() const { return count_; }
  std::int64_t word(int at) const { return words_[at]; }

 private:
  std::array<std::int64_t, kMaxWords> words_;
  int count_ = 0;
};

/// An address says where host code lies: another in each process and each twin of a program, so that neither a schedule
/// nor a contract holds a node to it.
enum class AttrKind : std::uint8_t { integer, flag, real, dims, address };

/// One declared attribute, for printing: `reprise ops`, contracts. Order = order of Attrs::add.
struct AttrSpec {
  const char* name;
  AttrKind kind;
};

}  // namespace reprise
