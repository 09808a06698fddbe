#include "core/region.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "core/error.h"
#include "core/runs.h"

namespace reprise {

namespace {

using Runs = std::span<const Run>;
using RunList = RecycledVector<Run>;

std::size_t seek(Runs runs, std::size_t i, std::int64_t at) { return seek_above(runs, i, at); }

/// Appends a run that starts at or after the start of the last one; merges when they overlap or touch.
void append(RunList& out, const Run& run) {
  if (!out.empty() && run.lo <= out.back().hi) {
    out.back().hi = std::max(out.back().hi, run.hi);
  } else {
    out.push_back(run);
  }
}

/// Takes runs from `from` at `i` up to the first that reaches `limit` (touching counts), in one copy where possible.
void take_below(RunList& out, Runs from, std::size_t& i, std::int64_t limit) {
  while (i < from.size() && from[i].hi < limit && !out.empty() && from[i].lo <= out.back().hi) append(out, from[i++]);
  std::size_t end = seek(from, i, limit - 1);
  out.insert(out.end(), from.begin() + static_cast<std::ptrdiff_t>(i), from.begin() + static_cast<std::ptrdiff_t>(end));
  i = end;
}

struct Axis {
  std::int64_t extent = 0, stride = 0;  // stride in bytes, positive
};

/// Adds the runs of all positions along `axes` (outermost last) to `out`, innermost axis running fastest.
void enumerate(std::span<const Axis> axes, std::int64_t at, std::int64_t width, RunList& out) {
  if (axes.empty()) {
    out.push_back({at, at + width});
    return;
  }
  Axis outer = axes.back();
  std::span<const Axis> inner = axes.first(axes.size() - 1);
  for (std::int64_t k = 0; k < outer.extent; ++k) enumerate(inner, at + k * outer.stride, width, out);
}

/// Sorts indices and drops repetitions. A bitmap is used when the indices are dense enough, because a scatter into a
/// table names tens of thousands of rows a step.
void sort_unique(RecycledVector<std::int64_t>& rows) {
  if (std::is_sorted(rows.begin(), rows.end(), std::less_equal<>())) return;
  auto [least, most] = std::minmax_element(rows.begin(), rows.end());
  std::int64_t base = *least, words = (*most - base) / 64 + 1;
  if (words > 8 * static_cast<std::int64_t>(rows.size())) {
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return;
  }
  RecycledVector<std::uint64_t> bits(static_cast<std::size_t>(words), 0);
  for (std::int64_t r : rows) bits[static_cast<std::size_t>((r - base) / 64)] |= std::uint64_t{1} << ((r - base) % 64);
  rows.clear();
  for (std::size_t w = 0; w < bits.size(); ++w) {
    for (std::uint64_t left = bits[w]; left != 0; left &= left - 1) {
      rows.push_back(base + static_cast<std::int64_t>(w) * 64 + std::countr_zero(left));
    }
  }
}

}  // namespace

Region Region::canonical(RunList runs) {
  Region region;
  region.count_ = runs.size();
  for (const Run& run : runs) region.bytes_ += run.hi - run.lo;
  if (runs.size() == 1) region.first_ = runs.front();
  if (runs.size() > 1) region.many_ = std::allocate_shared<RunList>(Recycled<RunList>(), std::move(runs));
  return region;
}

Region Region::span(std::int64_t lo, std::int64_t hi) {
  Region region;
  if (lo >= hi) return region;
  region.first_ = {lo, hi};
  region.count_ = 1;
  region.bytes_ = hi - lo;
  return region;
}

Region Region::block(std::int64_t offset, const Shape& shape, const Strides& strides, std::int64_t item_bytes) {
  REPRISE_INVARIANT(shape.size() == strides.size() && item_bytes > 0);
  std::array<Axis, kMaxRank> axes;
  int rank = 0;
  std::int64_t at = offset * item_bytes;
  for (int k = 0; k < shape.size(); ++k) {
    if (shape[k] <= 0) return Region();
    std::int64_t stride = strides[k] * item_bytes;
    if (stride < 0) {  // walk the same bytes from their lowest end
      at += (shape[k] - 1) * stride;
      stride = -stride;
    }
    if (shape[k] == 1 || stride == 0) continue;
    // The set of bytes does not depend on the order of the axes: the smallest stride goes innermost.
    int place = rank++;
    for (; place > 0 && axes[static_cast<std::size_t>(place - 1)].stride > stride; --place) {
      axes[static_cast<std::size_t>(place)] = axes[static_cast<std::size_t>(place - 1)];
    }
    axes[static_cast<std::size_t>(place)] = {shape[k], stride};
  }
  std::int64_t width = item_bytes;
  int inner = 0;
  while (inner < rank && axes[static_cast<std::size_t>(inner)].stride <= width) {
    const Axis& axis = axes[static_cast<std::size_t>(inner++)];
    width += (axis.extent - 1) * axis.stride;
  }
  std::span<const Axis> outer(axes.data() + inner, static_cast<std::size_t>(rank - inner));
  if (outer.empty()) return span(at, at + width);
  std::int64_t count = 1;
  for (const Axis& axis : outer) count *= axis.extent;
  RunList runs;
  runs.reserve(static_cast<std::size_t>(count));
  enumerate(outer, at, width, runs);
  return from_list(std::move(runs));
}

Region Region::rows(std::int64_t base, std::int64_t row_bytes, std::span<const std::int64_t> rows) {
  if (rows.empty() || row_bytes <= 0) return Region();
  RecycledVector<std::int64_t> sorted(rows.begin(), rows.end());
  sort_unique(sorted);
  if (sorted.front() < 0) fail(ErrorKind::internal, "[region] expected rows from 0 on, got row {}", sorted.front());
  RunList runs;
  runs.reserve(sorted.size());
  for (std::int64_t r : sorted) append(runs, {base + r * row_bytes, base + (r + 1) * row_bytes});
  return canonical(std::move(runs));
}

Region Region::from_runs(std::span<const Run> runs) { return from_list(RunList(runs.begin(), runs.end())); }

Region Region::from_list(RunList runs) {
  auto by_start = [](const Run& a, const Run& b) { return a.lo < b.lo; };
  if (!std::is_sorted(runs.begin(), runs.end(), by_start)) std::sort(runs.begin(), runs.end(), by_start);
  std::size_t kept = 0;
  for (const Run& run : runs) {  // in place: the write position never passes the read position
    if (run.lo >= run.hi) continue;
    if (kept > 0 && run.lo <= runs[kept - 1].hi) {
      runs[kept - 1].hi = std::max(runs[kept - 1].hi, run.hi);
    } else {
      runs[kept++] = run;
    }
  }
  runs.resize(kept);
  return canonical(std::move(runs));
}

bool Region::overlaps(const Region& other) const {
  Runs a = runs(), b = other.runs();
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].lo < b[j].hi && b[j].lo < a[i].hi) return true;
    if (a[i].hi <= b[j].lo) {
      i = seek(a, i, b[j].lo);
    } else {
      j = seek(b, j, a[i].lo);
    }
  }
  return false;
}

bool Region::contains(const Region& other) const {
  if (other.bytes_ >= bytes_) return *this == other;
  Runs mine = runs();
  std::size_t i = 0;
  for (const Run& run : other.runs()) {
    i = seek(mine, i, run.lo);
    if (i == mine.size() || mine[i].lo > run.lo || mine[i].hi < run.hi) return false;
  }
  return true;
}

Region unite(const Region& a, const Region& b) {
  if (a.is_span() && a.contains(b)) return a;
  if (b.is_span() && b.contains(a)) return b;
  if (a.empty()) return b;
  if (b.empty()) return a;
  Runs x = a.runs(), y = b.runs();
  RunList out;
  out.reserve(x.size() + y.size());
  std::size_t i = 0, j = 0;
  while (i < x.size() && j < y.size()) {
    if (x[i].lo <= y[j].lo) {
      append(out, x[i++]);
      take_below(out, x, i, y[j].lo);
    } else {
      append(out, y[j++]);
      take_below(out, y, j, x[i].lo);
    }
  }
  while (i < x.size()) append(out, x[i++]);
  while (j < y.size()) append(out, y[j++]);
  return Region::canonical(std::move(out));
}

Region intersect(const Region& a, const Region& b) {
  if (a.is_span() && a.contains(b)) return b;
  if (b.is_span() && b.contains(a)) return a;
  Runs x = a.runs(), y = b.runs();
  RunList out;
  std::size_t i = 0, j = 0;
  while (i < x.size() && j < y.size()) {
    std::int64_t lo = std::max(x[i].lo, y[j].lo), hi = std::min(x[i].hi, y[j].hi);
    if (lo < hi) out.push_back({lo, hi});
    if (x[i].hi < y[j].hi) {
      i = seek(x, i + 1, y[j].lo);
    } else {
      j = seek(y, j + 1, x[i].lo);
    }
  }
  return Region::canonical(std::move(out));
}

Region subtract(const Region& a, const Region& b) {
  if (!a.overlaps(b)) return a;
  if (a == b) return Region();
  Runs x = a.runs(), y = b.runs();
  RunList out;
  out.reserve(x.size() + std::min(x.size(), y.size()));
  std::size_t i = 0, j = 0;
  while (i < x.size()) {
    j = seek(y, j, x[i].lo);
    if (j == y.size()) {
      out.insert(out.end(), x.begin() + static_cast<std::ptrdiff_t>(i), x.end());
      break;
    }
    std::size_t untouched = seek(x, i, y[j].lo);
    if (untouched > i) {
      out.insert(out.end(), x.begin() + static_cast<std::ptrdiff_t>(i),
                 x.begin() + static_cast<std::ptrdiff_t>(untouched));
      i = untouched;
      continue;
    }
    std::int64_t lo = x[i].lo;
    for (; j < y.size() && y[j].lo < x[i].hi; ++j) {
      if (lo < y[j].lo) out.push_back({lo, y[j].lo});
      lo = std::max(lo, y[j].hi);
      if (lo >= x[i].hi) break;  // this run of b may reach into the next run of a
    }
    if (lo < x[i].hi) out.push_back({lo, x[i].hi});
    ++i;
  }
  return Region::canonical(std::move(out));
}

bool operator==(const Region& a, const Region& b) {
  if (a.count_ != b.count_ || a.bytes_ != b.bytes_) return false;
  if (a.many_ && a.many_ == b.many_) return true;
  return std::ranges::equal(a.runs(), b.runs());
}

std::string Region::describe() const {
  if (empty()) return "no bytes";
  Run hull = cover();
  if (is_span()) return fmt::format("[{}, {})", hull.lo, hull.hi);
  return fmt::format("{} runs in [{}, {}), {} bytes", count_, hull.lo, hull.hi, bytes_);
}

}  // namespace reprise
