// Walking sorted, disjoint ranges of bytes without looking at each. Used by the operations on regions and by the index
// of owed bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace reprise {

/// As seek_above, where the range at `i` is there and ends at or before `at`.
template <class Range>
std::size_t seek_far(std::span<const Range> ranges, std::size_t i, std::int64_t at) {
  std::size_t step = 1;
  while (i + step < ranges.size() && ranges[i + step].hi <= at) step *= 2;
  auto first = ranges.begin() + static_cast<std::ptrdiff_t>(i + step / 2);
  auto last = ranges.begin() + static_cast<std::ptrdiff_t>(std::min(i + step, ranges.size()));
  auto found = std::partition_point(first, last, [at](const Range& range) { return range.hi <= at; });
  return static_cast<std::size_t>(found - ranges.begin());
}

/// The first of `ranges` (sorted, disjoint, with members lo and hi) at or after `i` that ends above `at`. Gallops, so
/// that a few ranges against many cost O(few * log(many)), and costs one comparison where none is skipped.
template <class Range>
std::size_t seek_above(std::span<const Range> ranges, std::size_t i, std::int64_t at) {
  return i >= ranges.size() || ranges[i].hi > at ? i : seek_far(ranges, i, at);
}

}  // namespace reprise
