#include "ops/row_index.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/recycled.h"

namespace reprise {

void resolve_rows(const Op& op, const TensorView& index, std::int64_t row_count, bool wrap, std::int64_t* rows) {
  std::int64_t count = index.size();
  bool flat = index.contiguous();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = i;
    if (!flat) {
      at = 0;
      std::int64_t rest = i;
      for (int a = index.shape.size() - 1; a >= 0; --a) {
        at += rest % index.shape[a] * index.strides[a];
        rest /= index.shape[a];
      }
    }
    std::int64_t row = index.dtype == DType::i64 ? index.as<std::int64_t>()[at] : index.as<std::int32_t>()[at];
    if (wrap && row_count > 0) {
      row %= row_count;
      if (row < 0) row += row_count;
    }
    if (row < 0 || row >= row_count) {
      throw IndexError(fmt::format("[{}] expected indices in [0, {}), got {} at position {}. The table has {} rows",
                                   op.name, row_count, row, i, row_count));
    }
    rows[i] = row;
  }
}

void require_distinct(const Op& op, std::span<const std::int64_t> rows) {
  RecycledVector<std::int64_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin == sorted.end()) return;
  throw IndexError(fmt::format("[{}] expected every row at most once in a write, got row {} twice", op.name, *twin));
}

namespace {

Region region_of_rows(const Tensor& table, std::span<const std::int64_t> rows) {
  std::int64_t item = size_of(table.dtype());
  std::int64_t base = table.offset() * item;
  Tensor row = table.with_view(rest_of(table.shape()), rest_of(table.strides()), 0);
  std::int64_t row_bytes = row.bytes();
  std::int64_t stride_bytes = table.strides()[0] * item;
  if (row_bytes == 0) return {};
  if (row.contiguous() && stride_bytes == row_bytes) return Region::rows(base, row_bytes, rows);
  Region one = Region::block(0, row.shape(), row.strides(), item);
  RecycledVector<Run> runs;
  runs.reserve(rows.size() * one.run_count());
  for (std::int64_t r : rows) {
    for (const Run& run : one.runs()) {
      runs.push_back({base + r * stride_bytes + run.lo, base + r * stride_bytes + run.hi});
    }
  }
  return Region::from_runs(runs);
}

Region region_of_list(const Op& op, const Tensor& table, const TensorView& list, bool wrap, bool distinct) {
  RecycledVector<std::int64_t> rows(static_cast<std::size_t>(list.size()));
  resolve_rows(op, list, table.shape()[0], wrap, rows.data());
  if (distinct) require_distinct(op, rows);
  return region_of_rows(table, rows);
}

/// What the region of a list of rows follows from, where list and table are contiguous.
using ListKey =
    std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool>;

// Note on constant lists. A list that never changes names the same rows in every step, and in every dry walk of a plan;
// to sort it again costs more than to read its rows. So their regions are kept, by the list's storage, whose number is
// never used again. Few: when there are too many all are dropped.
constexpr std::size_t kMostLists = 256;

std::map<ListKey, Region>& known_lists() {
  thread_local std::map<ListKey, Region> lists;
  return lists;
}

}  // namespace

Region rows_region(const RegionContext& c, int table, int index, bool wrap, bool distinct) {
  const Tensor& whole = c.operand(table);
  TensorView list = c.view(index);
  if (!list.defined()) return whole.region();
  const Tensor& rows = c.operand(index);
  if (!rows.storage().is_constant() || !list.contiguous() || !whole.contiguous()) {
    return region_of_list(c.op(), whole, list, wrap, distinct);
  }
  std::int64_t rows_of_table = whole.shape()[0];
  ListKey key{rows.storage().serial(), rows.offset(), list.size(), whole.offset() * size_of(whole.dtype()),
              rows_of_table,           whole.bytes(), wrap,        distinct};
  std::map<ListKey, Region>& known = known_lists();
  auto at = known.find(key);
  if (at != known.end()) return at->second;
  if (known.size() >= kMostLists) known.clear();
  return known.emplace(key, region_of_list(c.op(), whole, list, wrap, distinct)).first->second;
}

Region ring_region(const Tensor& table, std::int64_t begin, std::int64_t count) {
  RecycledVector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) rows[i] = (begin + i) % table.shape()[0];
  return region_of_rows(table, rows);
}

TensorView row_of(const TensorView& view, std::int64_t row) {
  return {view.data + row * view.strides[0] * size_of(view.dtype), view.dtype, rest_of(view.shape),
          rest_of(view.strides)};
}

Shape rest_of(const Shape& shape) {
  Shape rest = shape;
  rest.erase(0);
  return rest;
}

void require_joinable(const InferContext& c, const Shape& first, const Shape& rest) {
  if (first.size() + rest.size() <= kMaxRank) return;
  fail(ErrorKind::user, "[{}] expected indices and rows of at most {} axes together, got indices {} and rows {}",
       c.op().name, kMaxRank, to_string(first), to_string(rest));
}

Shape join(const Shape& first, const Shape& rest) {
  Shape joined = first;
  for (std::int64_t d : rest) joined.push_back(d);
  return joined;
}

}  // namespace reprise
