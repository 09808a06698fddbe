// The time machine: serves owed reads by exchanging their blocks with the live bytes, and puts everything back.
//
// Note: why exchange and not copy. Opening a block by exchange keeps the newest bytes in the block's own memory, so no
// second buffer is needed, closing is the same operation again, and neither can fail.

#include "core/byte_hash.h"
#include "memory/foreign_write.h"
#include "memory/ledger.h"

namespace reprise {

void Preserver::State::exchange(Block& block, MovedBytes& moved) noexcept {
  std::byte* live = block.storage->raw();
  std::byte* kept = block.bytes->raw();
  if (!live) {  // a dry trace
  } else if (block.plain) {
    for (const Run& run : block.open_part.runs()) swap_span(live + run.lo, kept + run.lo, run.hi - run.lo);
    moved.add_block(block.open_part.bytes(), static_cast<std::int64_t>(block.open_part.run_count()));
  } else {
    swap_rows(block.rows, live, kept);
    moved.add_block(block.rows.data_bytes, block.rows.runs());
  }
  block.open = !block.open;
}

void Preserver::State::open(Ledger& ledger, Block* block, MovedBytes& moved) {
  block->open_place = ledger.open.size();
  ledger.open.push_back(block);
  block->open_part = block->wanted;
  exchange(*block, moved);
}

/// The open blocks of a storage have no bytes in common, so they may be closed in any order.
void Preserver::State::close(Ledger& ledger, Block* block, MovedBytes& moved) noexcept {
  exchange(*block, moved);
  ledger.open.back()->open_place = block->open_place;
  ledger.open[block->open_place] = ledger.open.back();
  ledger.open.pop_back();
}

void Preserver::State::close(Ledger& ledger) noexcept {
  if (ledger.open.empty()) return;
  PreserveScope scope(PreserveListener::What::exchange, *ledger.open.front()->storage);
  for (Block* block : ledger.open) exchange(*block, scope.moved);
  ledger.open.clear();
}

void Preserver::close_all() noexcept {
  for (Storage* storage : state_->open_storages) {
    State::Ledger& ledger = state_->of(*storage);
    state_->close(ledger);
    ledger.listed = false;
  }
  state_->open_storages.clear();
}

/// Serves those of `ids` that are reads of `storage`.
void Preserver::State::serve_storage(Storage& storage, std::span<const ReadId> ids) {
  ++servings;
  wanted.clear();
  bool live_wanted = false;
  for (ReadId id : ids) {
    const Read& read = reads[id];
    if (read.storage != &storage || read.copy) continue;
    live_wanted = true;
    for (const Piece& piece : read.pieces) {
      Block& block = *piece.block;
      if (block.serving != servings) {
        block.serving = servings;
        block.wanted = piece.part;
        wanted.push_back(&block);
      } else if (block.plain) {
        block.wanted = unite(block.wanted, piece.part);
      }
    }
  }
  if (!live_wanted) return;
  Ledger& ledger = of(storage);
  if (wanted.empty()) return close(ledger);
  PreserveScope scope(PreserveListener::What::exchange, storage);
  for (std::size_t i = ledger.open.size(); i-- > 0;) {
    Block* block = ledger.open[i];
    if (block->serving != servings || !(block->open_part == block->wanted)) close(ledger, block, scope.moved);
  }
  if (!ledger.listed) {
    open_storages.push_back(&storage);
    ledger.listed = true;
  }
  for (Block* block : wanted) {
    if (!block->open) open(ledger, block, scope.moved);
  }
}

void Preserver::serve(std::span<const ReadId> ids) {
  State& s = *state_;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Storage* storage = s.reads[ids[i]].storage;
    bool seen = false;
    for (std::size_t j = 0; j < i && !seen; ++j) seen = s.reads[ids[j]].storage == storage;
    if (!seen) s.serve_storage(*storage, ids.subspan(i));
  }
  if (s.guard && !s.unchecked) {
    for (ReadId id : ids) s.verify(s.reads[id], State::base_of(s.reads[id]));
  }
}

/// Where the storage's byte 0 would be, of a read that is served.
std::byte* Preserver::State::base_of(const Read& read) {
  return read.copy ? read.copy->bytes->raw() : read.storage->raw();
}

std::byte* Preserver::base(ReadId id) const { return State::base_of(state_->reads[id]); }

/// Of a read that is not served: the live bytes, then over them those that blocks hold. `to` stands for byte 0.
void Preserver::State::copy_out(const Read& read, std::byte* to) const {
  auto put = [&](const Region& part, const std::byte* from) {
    for (const Run& run : part.runs()) copy_span(from + run.lo, to + run.lo, run.hi - run.lo);
  };
  put(read.region, base_of(read));
  for (const Piece& piece : read.pieces) {
    const Block& block = *piece.block;
    if (block.plain)
      put(piece.part, block.bytes->raw());
    else
      unpack_rows(block.rows, block.bytes->raw(), to);
  }
}

StorageRef Preserver::materialise(ReadId id, const Run& window) {
  State& s = *state_;
  const State::Read& read = s.reads[id];
  StorageRef copy = Storage::create(*s.allocator, nullptr, window.hi - window.lo, Category::preserved);
  s.close(State::of(*read.storage));
  if (!copy->raw()) return copy;
  std::byte* base = copy->raw() - window.lo;
  s.copy_out(read, base);
  if (s.guard && !s.unchecked) s.verify(read, base);
  return copy;
}

StorageRef Preserver::materialise(ReadId id) { return materialise(id, {0, state_->reads[id].storage->bytes()}); }

std::uint64_t Preserver::State::hash_of(const Read& read, const std::byte* base) {
  ByteHash hash;
  for (const Run& run : read.region.runs()) hash.add(base + run.lo, static_cast<std::size_t>(run.hi - run.lo));
  return hash.value();
}

void Preserver::State::verify(const Read& read, const std::byte* base) const {
  if (hash_of(read, base) == read.hash) return;
  const Storage& storage = *read.storage;
  StorageVersion now = version_of(storage);
  fail_other_bytes(read.label, storage.name(), read.region, {read.clock, read.writer}, &now);
}

int Preserver::open_blocks() const {
  int count = 0;
  for (const Storage* storage : state_->open_storages) count += static_cast<int>(state_->of(*storage).open.size());
  return count;
}

}  // namespace reprise
