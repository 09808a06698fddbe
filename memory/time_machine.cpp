// The time machine: serves owed reads by exchanging their blocks with the live bytes, and puts everything back.
//
// Note: why exchange and not copy. Opening a block by exchange keeps the newest bytes in the block's own memory, so no
// second buffer is needed, closing is the same operation again, and neither can fail.

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/parallel.h"
#include "memory/preserver.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reprise {

namespace {

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

void Preserver::exchange(Block& block) noexcept {
  std::byte* live = block.storage->raw();
  std::byte* kept = block.bytes->raw();
  if (!live) {  // a dry trace
  } else if (block.plain) {
    for (const Run& run : block.open_part.runs()) swap_bytes(live + run.lo, kept + run.lo, run.hi - run.lo);
  } else {
    for (const Run& run : block.region.runs()) {
      swap_bytes(live + run.lo, kept, run.hi - run.lo);
      kept += run.hi - run.lo;
    }
  }
  block.open = !block.open;
}

void Preserver::close(Ledger& ledger) noexcept {
  for (Block* block : ledger.open) exchange(*block);
  ledger.open.clear();
}

void Preserver::close_all() noexcept {
  for (Storage* storage : open_storages_) close(*static_cast<Ledger*>(storage->ledger));
  open_storages_.clear();
}

void Preserver::serve(std::span<const ReadId> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Storage* storage = reads_[ids[i]].storage;
    bool seen = false;
    for (std::size_t j = 0; j < i && !seen; ++j) seen = reads_[ids[j]].storage == storage;
    if (seen) continue;
    std::vector<Piece> wanted;
    bool live_wanted = false;
    for (std::size_t j = i; j < ids.size(); ++j) {
      const Read& read = reads_[ids[j]];
      if (read.storage != storage || read.copy) continue;
      live_wanted = true;
      for (const Piece& piece : read.pieces) {
        auto at = std::find_if(wanted.begin(), wanted.end(), [&](const Piece& w) { return w.block == piece.block; });
        if (at == wanted.end()) wanted.push_back(piece);
        else at->part = unite(at->part, piece.part);
      }
    }
    if (!live_wanted) continue;
    Ledger& ledger = ledger_of(*storage);
    std::erase_if(ledger.open, [&](Block* block) {
      auto at = std::find_if(wanted.begin(), wanted.end(), [&](const Piece& w) { return w.block == block; });
      if (at != wanted.end() && (!block->plain || block->open_part == at->part)) return false;
      exchange(*block);
      return true;
    });
    for (const Piece& piece : wanted) {
      if (piece.block->open) continue;
      piece.block->open_part = piece.part;
      exchange(*piece.block);
      ledger.open.push_back(piece.block);
    }
    if (!ledger.open.empty() && std::find(open_storages_.begin(), open_storages_.end(), storage) == open_storages_.end()) {
      open_storages_.push_back(storage);
    }
  }
  if (guard_ && !unchecked_) {
    for (ReadId id : ids) verify(reads_[id]);
  }
}

std::byte* Preserver::base(ReadId id) const {
  const Read& read = reads_[id];
  return read.copy ? read.copy->bytes->raw() : read.storage->raw();
}

void Preserver::copy_out(const Read& read, std::byte* to) const {
  if (read.copy) {
    for (const Run& run : read.region.runs()) {
      std::memcpy(to + run.lo, read.copy->bytes->raw() + run.lo, static_cast<std::size_t>(run.hi - run.lo));
    }
    return;
  }
  auto put = [&](const Region& part, const std::byte* from) {
    for (const Run& run : part.runs()) std::memcpy(to + run.lo, from + run.lo, static_cast<std::size_t>(run.hi - run.lo));
  };
  put(read.live, read.storage->raw());
  for (const Piece& piece : read.pieces) {
    if (piece.block->plain) {
      put(piece.part, piece.block->bytes->raw());
      continue;
    }
    const std::byte* from = piece.block->bytes->raw();
    for (const Run& run : piece.block->region.runs()) {
      std::memcpy(to + run.lo, from, static_cast<std::size_t>(run.hi - run.lo));
      from += run.hi - run.lo;
    }
  }
}

StorageRef Preserver::materialise(ReadId id) {
  const Read& read = reads_[id];
  StorageRef copy = Storage::create(*allocator_, nullptr, read.storage->bytes(), Category::preserved);
  close(ledger_of(*read.storage));
  if (copy->raw()) copy_out(reads_[id], copy->raw());
  return copy;
}

std::uint64_t Preserver::hash_of(const Read& read) const {
  const std::byte* from = read.copy ? read.copy->bytes->raw() : read.storage->raw();
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const Run& run : read.region.runs()) {
    XXH3_64bits_update(&state, from + run.lo, static_cast<std::size_t>(run.hi - run.lo));
  }
  return XXH3_64bits_digest(&state);
}

void Preserver::verify(const Read& read) const {
  if (hash_of(read) == read.hash) return;
  const Storage& storage = *read.storage;
  auto said = [](Clock clock, const Writer& writer) {
    return clock == 0 ? std::string("never announced a write") : fmt::format("last written by {} at node {}", writer.name, writer.sequence);
  };
  fail(ErrorKind::replay,
       "[{}] expected operand {} of segment '{}' ({}, bytes {}) as at version {} ({}), got other bytes; the storage is at "
       "version {} ({}). Someone wrote without passing a door: write through host_write(), or name the bytes in the op's "
       "updates.",
       read.label.op, read.label.operand, *read.label.segment ? read.label.segment : "(outside)",
       storage.name().empty() ? "a value" : storage.name(), read.region.describe(), read.clock,
       said(read.clock, read.writer), storage.clock(), said(storage.clock(), storage.last_writer()));
}

int Preserver::open_blocks() const {
  int count = 0;
  for (const Storage* storage : open_storages_) count += static_cast<int>(static_cast<const Ledger*>(storage->ledger)->open.size());
  return count;
}

}  // namespace reprise
