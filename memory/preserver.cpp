#include "memory/preserver.h"

#include <algorithm>

#include "core/error.h"
#include "memory/ledger.h"
#include "memory/preserve_listener.h"

namespace reprise {

namespace {
/// Ledgers kept for the storages that are owed next, with the memory their indices have grown to; more than a step has
/// owed at one time would only be held for nothing.
constexpr std::size_t kSpareLedgers = 256;
}  // namespace

const char* to_string(StateOption option) { return option == StateOption::whole ? "whole" : "region"; }

Preserver::Preserver(Allocator& allocator) : state_(std::make_unique<State>(*this, allocator)) {}

Preserver::~Preserver() {
  for (State::Read& read : state_->reads) {
    if (read.used) drop(static_cast<ReadId>(&read - state_->reads.data()));
  }
}

void Preserver::set_guard(bool on) { state_->guard = on; }
void Preserver::set_unchecked(bool on) { state_->unchecked = on; }

bool Preserver::unchecked() const { return state_->unchecked; }

void Preserver::set_bounding(bool on) { state_->bounding += on ? 1 : -1; }

Clock Preserver::version(ReadId read) const { return state_->reads[read].clock; }
const Region& Preserver::region(ReadId read) const { return state_->reads[read].region; }
const Writer& Preserver::writer(ReadId read) const { return state_->reads[read].writer; }
bool Preserver::broken(ReadId read) const {
  const State::Read& r = state_->reads[read];
  return r.copy || !r.pieces.empty();
}
Preserver::Totals Preserver::ever() const { return state_->ever; }
std::uint64_t Preserver::host_saves() const { return state_->host_saves; }

// ---- ledgers

Preserver::State::State(Preserver& own, Allocator& from) : self(&own), allocator(&from) {
  spare.reserve(kSpareLedgers);
}

Preserver::State::Ledger& Preserver::State::ledger_of(Storage& storage) {
  if (!storage.ledger) {
    if (spare.empty()) {
      storage.ledger = new Ledger(scratch, *self);
    } else {
      storage.ledger = spare.back().release();
      spare.pop_back();
    }
  }
  return of(storage);
}

/// The storage has no obligations left, so its ledger holds nothing.
void Preserver::State::give_back(Storage& storage) noexcept {
  std::unique_ptr<Ledger> ledger(&of(storage));
  storage.ledger = nullptr;
  storage.release_observer();
  if (ledger->listed) std::erase(open_storages, &storage);
  if (spare.size() == kSpareLedgers) return;
  ledger->listed = false;
  ledger->looked = 0;
  ledger->index.clear();
  spare.push_back(std::move(ledger));
}

void Preserver::State::index_fresh(Ledger& ledger) {
  for (; !ledger.fresh.empty(); ledger.fresh.pop_back()) {
    ReadId id = ledger.fresh.back();
    Read& read = reads[id];
    const Region live = subtract(read.region, read.broken);
    read.at = ledger.index.add(live, id, read.option == StateOption::whole);
    read.broken = Region();
    read.place = Place::index;
    if (!read.pieces.empty()) ledger.index.settle(read.at);
  }
}

/// No write needs to look for the read any more.
void Preserver::State::unlist(Ledger& ledger, Read& read) noexcept {
  if (read.place == Place::index) ledger.index.forget(read.at);
  if (read.place == Place::fresh) {
    ReadId last = ledger.fresh.back();
    ledger.fresh[read.at] = last;
    reads[last].at = read.at;
    ledger.fresh.pop_back();
  }
  read.place = Place::none;
}

// ---- reads

/// A place for a read, not in use; with it room among the free ones, so that drop() cannot fail.
ReadId Preserver::State::new_read() {
  if (!free.empty()) return free.back();
  grow_room(reads, 1);
  free.reserve(reads.capacity());
  reads.emplace_back();
  free.push_back(static_cast<ReadId>(reads.size() - 1));
  return free.back();
}

ReadId Preserver::owe(Storage& storage, const Region& region, StateOption option, const ReadLabel& label) {
  State& s = *state_;
  ReadId id = s.new_read();
  bool fresh = !storage.ledger;
  State::Ledger& ledger = s.ledger_of(storage);
  if (ledger.owner != this) {
    fail(ErrorKind::user,
         "[{}] expected bytes that the tapes of one memory owe, got '{}', which one of another memory owes too. Clear "
         "that tape first, or copy the state.",
         label.op, storage.name());
  }
  s.close(ledger);
  State::Read& read = s.reads[id];
  read.storage = &storage;
  read.region = region;
  try {
    ledger.fresh.push_back(id);
    if (s.guard) read.hash = State::hash_of(read, storage.raw());
  } catch (...) {
    if (!ledger.fresh.empty() && ledger.fresh.back() == id) ledger.fresh.pop_back();
    read.region = Region();
    if (fresh) s.give_back(storage);
    throw;
  }
  // From here on nothing fails.
  s.free.pop_back();
  storage.adopt_observer(this);
  read.clock = storage.clock();
  read.writer = storage.last_writer();
  read.option = option;
  read.label = label;
  read.used = true;
  read.place = State::Place::fresh;
  read.at = static_cast<std::uint32_t>(ledger.fresh.size() - 1);
  ++storage.obligations;
  ++s.ever.reads;
  return id;
}

void Preserver::drop(ReadId id) noexcept {
  State& s = *state_;
  State::Read& read = s.reads[id];
  Storage& storage = *read.storage;
  State::Ledger& ledger = s.of(storage);
  if (!read.pieces.empty()) {
    PreserveScope scope(PreserveListener::What::exchange, storage);
    for (const State::Piece& piece : read.pieces) s.release(ledger, piece.block, scope.moved);
  }
  s.unlist(ledger, read);
  read.pieces.clear();
  read.copy.reset();
  read.region = Region();
  read.broken = Region();
  read.used = false;
  s.free.push_back(id);
  if (--storage.obligations == 0) s.give_back(storage);
}

void Preserver::State::release(Ledger& ledger, Block* block, MovedBytes& moved) noexcept {
  if (--block->readers > 0) return;
  if (block->open) close(ledger, block, moved);
  std::size_t place = block->place;
  std::swap(ledger.blocks[place], ledger.blocks.back());
  ledger.blocks[place]->place = place;
  ledger.blocks.pop_back();
}

// ---- a write

void Preserver::before_write(Storage& storage, const Region& region, const Writer& writer) {
  State& s = *state_;
  if (Preserver* owner = storage.ledger ? s.of(storage).owner : this; owner != this)
    return owner->before_write(storage, region, writer);  // a storage of this memory, owed by a tape of another
  if (s.unchecked) return;
  State::Ledger& ledger = s.ledger_of(storage);
  s.close(ledger);
  PreserveScope scope(PreserveListener::What::preserve, storage);
  bool few = s.has_few(ledger);
  if (few) {
    s.find_in_few(ledger, region, writer.preserve);
  } else {
    s.index_fresh(ledger);
    ledger.index.find(region, writer.preserve, s.found);
  }
  if (s.found.empty()) return;
  // All memory is had before anything changes.
  std::span<const ReadId> whole = s.found.whole();
  std::shared_ptr<State::Copy> copy = whole.empty() ? nullptr : s.make_copy(storage, writer);
  RecycledVector<std::shared_ptr<State::Copy>> others;
  // The real reads may be broken by different writes, each with a copy of its own.
  for (std::size_t i = 1; s.bounding > 0 && i < whole.size(); ++i) others.push_back(s.make_copy(storage, writer));
  State::Blocks blocks = s.make_blocks(storage, writer);
  if (few)
    s.unite_broken();
  else
    ledger.index.make_room(region);
  grow_room(ledger.blocks, blocks.size());
  s.give_pieces(blocks);
  // From here on nothing fails.
  if (copy) scope.moved.copied += storage.bytes();
  for (const std::unique_ptr<State::Block>& block : blocks) {
    if (block->plain)
      scope.moved.add_block(storage.bytes(), 1);
    else
      scope.moved.add_block(block->rows.data_bytes, block->rows.runs());
  }
  s.bind(ledger, std::move(blocks));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    State::Read& read = s.reads[whole[i]];
    read.copy = i == 0 || others.empty() ? copy : others[i - 1];
    s.unlist(ledger, read);
  }
  if (writer.step == 0) ++s.host_saves;
  if (few)
    s.take_from_few(ledger);
  else
    ledger.index.take(region);
}

namespace {

/// What the block of a claim is charged where regions bound the real ones: the real reads may part its bytes into as
/// many blocks as they have subsets, each rounded up, with entries of its own (rows are at least 8 bytes wide).
std::int64_t bound_of(std::int64_t data_bytes, std::size_t readers) {
  std::int64_t rows = (data_bytes + 7) / 8;
  std::int64_t subsets = readers < 32 ? (std::int64_t{1} << readers) - 1 : rows;
  return round_up_64(data_bytes) + std::min(rows, subsets) * 64 + rows * 8;
}

}  // namespace

/// All bytes of the storage as they are now; no bytes on a dry run.
StorageRef Preserver::State::copy_bytes(Storage& storage) {
  StorageRef copy = Storage::create(*allocator, nullptr, storage.bytes(), Category::preserved);
  if (storage.raw()) copy_span(storage.raw(), copy->raw(), storage.bytes());
  return copy;
}

std::shared_ptr<Preserver::State::Copy> Preserver::State::make_copy(Storage& storage, const Writer& writer) {
  auto copy = std::allocate_shared<Copy>(Recycled<Copy>());
  copy->killer = writer;
  copy->bytes = copy_bytes(storage);
  return copy;
}

/// One block per claim that was found; or one plain one, where those would be as large as the storage.
Preserver::State::Blocks Preserver::State::make_blocks(Storage& storage, const Writer& writer) {
  Blocks blocks;
  auto add = [&] {
    blocks.push_back(std::make_unique<Block>());
    blocks.back()->storage = &storage;
    blocks.back()->killer = writer;
  };
  std::int64_t packed = 0;
  for (const OwedIndex::Claim& claim : found.claims()) {
    add();
    RowList& rows = blocks.back()->rows;
    rows = list_rows(claim.runs);
    packed += round_up_64(bounding > 0 ? bound_of(rows.data_bytes, claim.readers.size()) : rows.block_bytes());
  }
  if (blocks.empty()) return blocks;
  if (packed >= round_up_64(storage.bytes())) {
    blocks.clear();
    add();
    blocks.back()->plain = true;
    blocks.back()->bytes = copy_bytes(storage);
    return blocks;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Block& block = *blocks[i];
    std::int64_t bytes = block.rows.block_bytes();
    if (bounding > 0) bytes = bound_of(block.rows.data_bytes, found.claims()[i].readers.size());
    block.bytes = Storage::create(*allocator, nullptr, bytes, Category::preserved);
    if (storage.raw()) pack_rows(block.rows, found.claims()[i].runs, storage.raw(), block.bytes->raw());
  }
  return blocks;
}

/// Gives the blocks of a write to the reads that they were made for; to none of them where memory runs out.
void Preserver::State::give_pieces(const Blocks& blocks) try {
  for (std::size_t i = 0; i < found.claims().size(); ++i) {
    const OwedIndex::Claim& claim = found.claims()[i];
    Block* block = blocks.front()->plain ? blocks.front().get() : blocks[i].get();
    Region part = block->plain ? Region::from_runs(claim.runs) : Region();
    for (ReadId id : claim.readers) {
      std::vector<Piece>& pieces = reads[id].pieces;
      if (!pieces.empty() && pieces.back().block == block) {
        pieces.back().part = unite(pieces.back().part, part);
      } else {
        pieces.push_back({block, part});
        ++block->readers;  // where this is given up the block goes with its count
      }
    }
  }
} catch (...) {
  take_pieces_back();
  throw;
}

/// The pieces of blocks that the ledger does not have yet are the last of their reads.
void Preserver::State::take_pieces_back() noexcept {
  for (const OwedIndex::Claim& claim : found.claims()) {
    for (ReadId id : claim.readers) {
      std::vector<Piece>& pieces = reads[id].pieces;
      while (!pieces.empty() && pieces.back().block->place == kNowhere) pieces.pop_back();
    }
  }
}

/// The ledger, which has room for them, takes the blocks that were given out.
void Preserver::State::bind(Ledger& ledger, Blocks blocks) noexcept {
  for (const OwedIndex::Claim& claim : found.claims()) {
    for (ReadId id : claim.readers) {
      if (reads[id].place == Place::index) ledger.index.settle(reads[id].at);
    }
  }
  for (std::unique_ptr<Block>& block : blocks) {
    ++ever.blocks;
    ever.block_bytes += block->plain ? block->bytes->bytes() : block->rows.data_bytes;
    ever.row_list_bytes += block->rows.bytes();
    block->place = ledger.blocks.size();
    ledger.blocks.push_back(std::move(block));
  }
  if (!found.whole().empty()) {
    ++ever.copies;
    ever.copy_bytes += reads[found.whole().front()].storage->bytes();
  }
}

void Preserver::before_host_access(Storage& storage) noexcept {
  if (storage.ledger) state_->close(state_->of(storage));
}

void Preserver::storage_dies(Storage& storage) noexcept {
  if (Preserver* owner = State::of(storage).owner; owner != this) return owner->storage_dies(storage);
  std::erase(state_->open_storages, &storage);
  delete static_cast<State::Ledger*>(storage.ledger);
  storage.ledger = nullptr;
}

// ---- what there is

Preserver::Totals Preserver::live() const {
  Totals totals;
  std::vector<const State::Copy*> copies;
  std::vector<const State::Block*> blocks;
  for (const State::Read& read : state_->reads) {
    if (!read.used) continue;
    ++totals.reads;
    if (read.copy) copies.push_back(read.copy.get());
    for (const State::Piece& piece : read.pieces) blocks.push_back(piece.block);
  }
  auto unique = [](auto& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  unique(copies);
  unique(blocks);
  for (const State::Copy* copy : copies) totals.copy_bytes += copy->bytes->bytes();
  for (const State::Block* block : blocks) {
    totals.block_bytes += block->plain ? block->bytes->bytes() : block->rows.data_bytes;
    totals.row_list_bytes += block->rows.bytes();
  }
  totals.copies = static_cast<std::int64_t>(copies.size());
  totals.blocks = static_cast<std::int64_t>(blocks.size());
  return totals;
}

std::vector<Preserver::Kept> Preserver::kept(ReadId id) const {
  const State::Read& read = state_->reads[id];
  std::vector<Kept> all;
  if (read.copy) all.push_back({read.copy.get(), true, read.copy->bytes->bytes(), 0, read.copy->killer});
  for (const State::Piece& piece : read.pieces) {
    const State::Block& block = *piece.block;
    if (block.plain)
      all.push_back({&block, true, block.bytes->bytes(), 0, block.killer});
    else
      all.push_back({&block, false, block.rows.data_bytes, block.rows.bytes(), block.killer});
  }
  return all;
}

}  // namespace reprise
