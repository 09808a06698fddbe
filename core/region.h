// A set of bytes of one storage: a span, a strided block, or rows named by an index list.
//
// Whatever it was made from, a region is kept as its canonical form: sorted, disjoint, non-touching byte runs, so equal
// sets compare equal and the set operations are linear merges. One run is held inline; more are shared, immutable.
// Callers: storage doors, the preserver, op contracts. Offsets and sizes are in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/recycled.h"
#include "core/shape.h"

namespace reprise {

struct Run {
  std::int64_t lo = 0, hi = 0;  // [lo, hi)
  friend bool operator==(const Run&, const Run&) = default;
};

class Region {
 public:
  Region() = default;  // empty

  static Region span(std::int64_t lo, std::int64_t hi);

  /// Elements offset + sum(i_k * strides_k) of an array with items of `item_bytes`. Strides may be 0 or negative.
  static Region block(std::int64_t offset, const Shape& shape, const Strides& strides, std::int64_t item_bytes);

  /// Rows base + r * row_bytes, `row_bytes` long, for each r of `rows` (any order, repetitions allowed, r >= 0).
  static Region rows(std::int64_t base, std::int64_t row_bytes, std::span<const std::int64_t> rows);

  /// From runs in any order, overlapping or not.
  static Region from_runs(std::span<const Run> runs);

  bool empty() const { return count_ == 0; }
  std::int64_t bytes() const { return bytes_; }
  std::size_t run_count() const { return count_; }
  std::span<const Run> runs() const { return {count_ <= 1 ? &first_ : many_->data(), count_}; }
  bool is_span() const { return count_ <= 1; }
  /// The smallest span that holds the region.
  Run cover() const { return empty() ? Run{} : Run{runs().front().lo, runs().back().hi}; }

  bool overlaps(const Region& other) const;
  bool contains(const Region& other) const;

  friend Region unite(const Region& a, const Region& b);
  friend Region intersect(const Region& a, const Region& b);
  friend Region subtract(const Region& a, const Region& b);
  friend bool operator==(const Region& a, const Region& b);

  /// "[0, 64)" or "3 runs in [0, 640), 192 bytes".
  std::string describe() const;

 private:
  using RunList = RecycledVector<Run>;

  static Region from_list(RunList runs);
  static Region canonical(RunList sorted_disjoint);

  Run first_;
  std::size_t count_ = 0;
  std::int64_t bytes_ = 0;
  std::shared_ptr<const RunList> many_;
};

Region unite(const Region& a, const Region& b);
Region intersect(const Region& a, const Region& b);
Region subtract(const Region& a, const Region& b);

}  // namespace reprise
