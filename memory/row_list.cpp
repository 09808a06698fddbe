#include "memory/row_list.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "core/parallel.h"

namespace reprise {

namespace {

constexpr std::int64_t kThreadBytes = std::int64_t{1} << 20;  // what one thread takes at a time

template <class Entry>
Entry load(const std::byte* list, std::int64_t at) {
  Entry entry;
  std::memcpy(&entry, list + at * static_cast<std::int64_t>(sizeof entry), sizeof entry);
  return entry;
}

template <class Entry>
void store(std::byte* list, std::int64_t at, std::int64_t value) {
  auto entry = static_cast<Entry>(value);
  std::memcpy(list + at * static_cast<std::int64_t>(sizeof entry), &entry, sizeof entry);
}

template <class Entry>
void write_list(RowList rows, std::span<const Run> runs, std::byte* list) {
  std::int64_t at = 0;
  for (const Run& run : runs) {
    if (rows.width > 0) {
      for (std::int64_t lo = run.lo; lo < run.hi; lo += rows.width) {
        store<Entry>(list, at++, (lo - rows.base) >> rows.shift);
      }
    } else {
      store<Entry>(list, at++, (run.lo - rows.base) >> rows.shift);
      store<Entry>(list, at++, (run.hi - run.lo) >> rows.shift);
    }
  }
}

/// Calls body(offset in the storage, offset in the data, count) for each entry; rows of one width by several threads.
template <class Entry, class Body>
void for_each_entry(const RowList& rows, const std::byte* list, const Body& body) {
  if (rows.width > 0) {
    std::int64_t grain = std::max<std::int64_t>(1, kThreadBytes / rows.width);
    parallel_blocks(rows.entries, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        auto start = static_cast<std::int64_t>(load<Entry>(list, i));
        body(rows.base + (start << rows.shift), i * rows.width, rows.width);
      }
    });
    return;
  }
  std::int64_t packed = 0;
  for (std::int64_t i = 0; i < rows.entries; ++i) {
    auto start = static_cast<std::int64_t>(load<Entry>(list, 2 * i));
    std::int64_t count = static_cast<std::int64_t>(load<Entry>(list, 2 * i + 1)) << rows.shift;
    body(rows.base + (start << rows.shift), packed, count);
    packed += count;
  }
}

template <class Body>
void for_each_row(const RowList& rows, const std::byte* block, const Body& body) {
  const std::byte* list = block + rows.data_bytes;
  if (rows.entries == 0)
    body(rows.base, std::int64_t{0}, rows.data_bytes);
  else if (rows.wide)
    for_each_entry<std::uint64_t>(rows, list, body);
  else
    for_each_entry<std::uint32_t>(rows, list, body);
}

void swap_bytes(std::byte* a, std::byte* b, std::int64_t count) {
  alignas(64) std::byte buffer[4096];
  while (count > 0) {
    auto n = static_cast<std::size_t>(std::min<std::int64_t>(count, sizeof buffer));
    std::memcpy(buffer, a, n);
    std::memcpy(a, b, n);
    std::memcpy(b, buffer, n);
    a += n;
    b += n;
    count -= static_cast<std::int64_t>(n);
  }
}

}  // namespace

RowList list_rows(std::span<const Run> runs) {
  RowList rows;
  if (runs.empty()) return rows;
  rows.base = runs.front().lo;
  std::int64_t width = runs.front().hi - runs.front().lo;
  std::uint64_t any = 0, unlike = 0;  // the lowest bit of `any` divides every start and length
  for (const Run& run : runs) {
    std::int64_t length = run.hi - run.lo;
    rows.data_bytes += length;
    any |= static_cast<std::uint64_t>(run.lo - rows.base) | static_cast<std::uint64_t>(length);
    unlike |= static_cast<std::uint64_t>(length ^ width);
  }
  if (unlike != 0) {
    for (const Run& run : runs) width = std::gcd(run.hi - run.lo, width);
  }
  if (runs.size() == 1) return rows;
  auto count = static_cast<std::int64_t>(runs.size());
  bool equal = rows.data_bytes / width <= 2 * count;
  rows.width = equal ? width : 0;
  rows.entries = equal ? rows.data_bytes / width : count;
  rows.shift = static_cast<std::uint8_t>(std::countr_zero(any));  // divides `width` too, which divides the lengths
  rows.wide = ((runs.back().hi - rows.base) >> rows.shift) > 0xffffffff;
  return rows;
}

void pack_rows(const RowList& rows, std::span<const Run> runs, const std::byte* storage, std::byte* block) noexcept {
  if (rows.entries == 0) return copy_span(storage + rows.base, block, rows.data_bytes);
  std::byte* list = block + rows.data_bytes;
  if (rows.wide)
    write_list<std::uint64_t>(rows, runs, list);
  else
    write_list<std::uint32_t>(rows, runs, list);
  for_each_row(rows, block, [=](std::int64_t at, std::int64_t packed, std::int64_t count) {
    std::memcpy(block + packed, storage + at, static_cast<std::size_t>(count));
  });
}

void swap_rows(const RowList& rows, std::byte* storage, std::byte* block) noexcept {
  if (rows.entries == 0) return swap_span(storage + rows.base, block, rows.data_bytes);
  for_each_row(rows, block, [=](std::int64_t at, std::int64_t packed, std::int64_t count) {
    swap_bytes(storage + at, block + packed, count);
  });
}

void unpack_rows(const RowList& rows, const std::byte* block, std::byte* storage) noexcept {
  for_each_row(rows, block, [=](std::int64_t at, std::int64_t packed, std::int64_t count) {
    std::memcpy(storage + at, block + packed, static_cast<std::size_t>(count));
  });
}

void copy_span(const std::byte* from, std::byte* to, std::int64_t count) noexcept {
  parallel_blocks(count, kThreadBytes, [=](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

void swap_span(std::byte* a, std::byte* b, std::int64_t count) noexcept {
  parallel_blocks(count, kThreadBytes,
                  [=](std::int64_t begin, std::int64_t end) { swap_bytes(a + begin, b + begin, end - begin); });
}

}  // namespace reprise
