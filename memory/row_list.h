// Row list: which bytes of a storage a packed block holds. The memory of the block is the data, run after run, then the
// list. Used by the preserver for the bytes that one write killed.
//
// A span needs no list. Rows of one width take one u32 each (where the row starts), other runs two (start and length),
// whichever is less; in units that divide them all, so that u32 reaches far. Beyond that the entries are u64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/region.h"

namespace reprise {

struct RowList {
  std::int64_t base = 0;  // where the first byte is in the storage; starts count from here
  std::int64_t data_bytes = 0;
  std::int64_t width = 0;    // bytes of each row; 0: every entry has a length of its own
  std::int64_t entries = 0;  // 0: a span
  std::uint8_t shift = 0;    // the unit of starts and lengths is 1 << shift bytes
  bool wide = false;         // entries of u64

  std::int64_t runs() const { return entries > 0 ? entries : 1; }
  /// Bytes of the list itself, behind the data.
  std::int64_t bytes() const { return entries * (width > 0 ? 1 : 2) * (wide ? 8 : 4); }
  /// Data and list together.
  std::int64_t block_bytes() const { return data_bytes + bytes(); }
};

/// How a region is listed; follows from its runs alone.
RowList list_rows(std::span<const Run> runs);

/// Copies the data and writes the list.
void pack_rows(const RowList& rows, std::span<const Run> runs, const std::byte* storage, std::byte* block) noexcept;
/// Exchanges the data with the bytes of the storage. Doing it again undoes it.
void swap_rows(const RowList& rows, std::byte* storage, std::byte* block) noexcept;
/// Copies the data to where it belongs.
void unpack_rows(const RowList& rows, const std::byte* block, std::byte* storage) noexcept;

/// Plain copying and exchanging of a span; large ones by several threads.
void copy_span(const std::byte* from, std::byte* to, std::int64_t count) noexcept;
void swap_span(std::byte* a, std::byte* b, std::int64_t count) noexcept;

}  // namespace reprise
