// What OwedIndex (owed_index.cpp alone) writes the pieces of a chunk anew with: one that puts pieces one behind the
// other, and one that walks those that were there. Neither changes what it reads, so that a change may be given up
// half-way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/runs.h"
#include "memory/owed_index.h"

namespace reprise {

/// Puts pieces one behind the other.
class PieceWriter {
 public:
  explicit PieceWriter(OwedPiece* to) : first_(to), end_(to) {}
  void put(std::int64_t lo, std::int64_t hi, std::uint32_t set) { *end_++ = {lo, hi, set}; }
  /// Joins with the one before where both are of one set.
  void join(std::int64_t lo, std::int64_t hi, std::uint32_t set) {
    if (end_ != first_ && end_[-1].hi == lo && end_[-1].set == set)
      end_[-1].hi = hi;
    else
      put(lo, hi, set);
  }
  void put_all(std::span<const OwedPiece> pieces) { end_ = std::copy(pieces.begin(), pieces.end(), end_); }
  std::size_t count() const { return static_cast<std::size_t>(end_ - first_); }

 private:
  OwedPiece *first_, *end_;
};

/// The pieces of a chunk that a change has not come to yet; the first may have lost its beginning.
class PiecesLeft {
 public:
  explicit PiecesLeft(std::span<const OwedPiece> pieces) : pieces_(pieces) { begin(); }
  bool none() const { return k_ == pieces_.size(); }
  std::int64_t lo() const { return lo_; }
  std::int64_t hi() const { return pieces_[k_].hi; }
  std::uint32_t set() const { return pieces_[k_].set; }
  /// Within the first, or to its end.
  void skip_to(std::int64_t at) {
    lo_ = at;
    if (at != pieces_[k_].hi) return;
    ++k_;
    begin();
  }
  void drop_first() { skip_to(pieces_[k_].hi); }
  /// Hands on what ends at or below `at`.
  void put_below(std::int64_t at, PieceWriter& out) {
    std::size_t above = seek_above(pieces_, k_, at);
    if (above == k_) return;
    out.put(lo_, pieces_[k_].hi, pieces_[k_].set);
    out.put_all(pieces_.subspan(k_ + 1, above - k_ - 1));
    k_ = above;
    begin();
  }
  void put_rest(PieceWriter& out) const {
    if (none()) return;
    out.put(lo_, pieces_[k_].hi, pieces_[k_].set);
    out.put_all(pieces_.subspan(k_ + 1));
  }

 private:
  void begin() { lo_ = none() ? 0 : pieces_[k_].lo; }

  std::span<const OwedPiece> pieces_;
  std::size_t k_ = 0;
  std::int64_t lo_ = 0;
};

}  // namespace reprise
