#include "memory/preserver.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace reprise {

const char* to_string(StateOption option) { return option == StateOption::whole ? "whole" : "region"; }

Preserver::~Preserver() {
  for (Read& read : reads_) {
    if (read.used) drop(static_cast<ReadId>(&read - reads_.data()));
  }
}

Preserver::Ledger& Preserver::ledger_of(Storage& storage) {
  if (!storage.ledger) storage.ledger = new Ledger;
  return *static_cast<Ledger*>(storage.ledger);
}

ReadId Preserver::owe(Storage& storage, const Region& region, StateOption option, const ReadLabel& label) {
  Ledger& ledger = ledger_of(storage);
  close(ledger);
  ReadId id;
  if (free_.empty()) {
    id = static_cast<ReadId>(reads_.size());
    reads_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Read& read = reads_[id];
  read.storage = &storage;
  read.region = region;
  read.live = region;
  read.clock = storage.clock();
  read.writer = storage.last_writer();
  read.option = option;
  read.label = label;
  read.used = true;
  ledger.reads.push_back(id);
  ++storage.obligations;
  ++ever_.reads;
  if (guard_) read.hash = hash_of(read);
  return id;
}

void Preserver::drop(ReadId id) noexcept {
  Read& read = reads_[id];
  Ledger& ledger = ledger_of(*read.storage);
  std::vector<Piece> pieces = std::move(read.pieces);
  for (const Piece& piece : pieces) remove_reader(ledger, piece.block, id);
  auto at = std::find(ledger.reads.rbegin(), ledger.reads.rend(), id);
  ledger.reads.erase(std::next(at).base());
  Storage* storage = read.storage;
  read = Read{};
  free_.push_back(id);
  if (--storage->obligations == 0) {
    std::erase(open_storages_, storage);
    delete static_cast<Ledger*>(storage->ledger);
    storage->ledger = nullptr;
  }
}

void Preserver::remove_reader(Ledger& ledger, Block* block, ReadId id) noexcept {
  std::erase(block->readers, id);
  if (!block->readers.empty()) return;
  if (block->open) {
    exchange(*block);
    std::erase(ledger.open, block);
  }
  std::erase_if(ledger.blocks, [&](const std::unique_ptr<Block>& b) { return b.get() == block; });
}

std::vector<Preserver::Claim> Preserver::partition(const Ledger& ledger, const Region& region) {
  std::vector<Claim> claims;
  for (ReadId id : ledger.reads) {
    const Read& read = reads_[id];
    if (read.option != StateOption::region || read.copy) continue;
    Region rest = intersect(read.live, region);
    for (std::size_t i = 0, n = claims.size(); i < n && !rest.empty(); ++i) {
      Region common = intersect(claims[i].region, rest);
      if (common.empty()) continue;
      rest = subtract(rest, common);
      if (common == claims[i].region) {
        claims[i].readers.push_back(id);
      } else {
        claims[i].region = subtract(claims[i].region, common);
        Claim split{std::move(common), claims[i].readers};
        split.readers.push_back(id);
        claims.push_back(std::move(split));
      }
    }
    if (!rest.empty()) claims.push_back({std::move(rest), {id}});
  }
  return claims;
}

namespace {

/// Bytes of the row list that goes with packed data: first and last byte of each run as u32; none for a span.
std::int64_t row_list_bytes(const Region& region) {
  return region.is_span() ? 0 : static_cast<std::int64_t>(region.run_count()) * 8;
}

/// Nothing in a dry trace, where storages have no bytes.
void copy_bytes(const std::byte* from, std::byte* to, std::int64_t count) {
  if (to) std::memcpy(to, from, static_cast<std::size_t>(count));
}

std::int64_t block_bytes(const Region& region) { return region.bytes() + row_list_bytes(region); }

}  // namespace

void Preserver::before_write(Storage& storage, const Region& region, const Writer& writer) {
  if (unchecked_) return;
  Ledger& ledger = ledger_of(storage);
  close(ledger);
  std::vector<Claim> claims = partition(ledger, region);
  std::int64_t packed = 0;
  for (const Claim& claim : claims) packed += round_up_64(block_bytes(claim.region));
  make_copy(storage, ledger, region, writer);
  if (!claims.empty()) {
    if (packed >= round_up_64(storage.bytes())) make_plain_block(storage, ledger, claims, writer);
    else make_blocks(storage, ledger, std::move(claims), writer);
  }
}

void Preserver::make_copy(Storage& storage, Ledger& ledger, const Region& region, const Writer& writer) {
  std::shared_ptr<Copy> copy;
  for (ReadId id : ledger.reads) {
    Read& read = reads_[id];
    if (read.option != StateOption::whole || read.copy || !read.live.overlaps(region)) continue;
    if (!copy) {
      copy = std::make_shared<Copy>();
      copy->killer = writer;
      copy->bytes = Storage::create(*allocator_, nullptr, storage.bytes(), Category::preserved);
      copy_bytes(storage.raw(), copy->bytes->raw(), storage.bytes());
      ++ever_.copies;
      ever_.copy_bytes += storage.bytes();
    }
    read.copy = copy;
    read.live = Region();
  }
}

void Preserver::make_plain_block(Storage& storage, Ledger& ledger, const std::vector<Claim>& claims,
                                 const Writer& writer) {
  auto block = std::make_unique<Block>();
  block->storage = &storage;
  block->plain = true;
  block->killer = writer;
  block->bytes = Storage::create(*allocator_, nullptr, storage.bytes(), Category::preserved);
  copy_bytes(storage.raw(), block->bytes->raw(), storage.bytes());
  for (const Claim& claim : claims) {
    block->region = unite(block->region, claim.region);
    for (ReadId id : claim.readers) {
      Read& read = reads_[id];
      if (!read.pieces.empty() && read.pieces.back().block == block.get()) {
        read.pieces.back().part = unite(read.pieces.back().part, claim.region);
      } else {
        read.pieces.push_back({block.get(), claim.region});
        block->readers.push_back(id);
      }
      read.live = subtract(read.live, claim.region);
    }
  }
  ++ever_.blocks;
  ever_.block_bytes += storage.bytes();
  ledger.blocks.push_back(std::move(block));
}

void Preserver::make_blocks(Storage& storage, Ledger& ledger, std::vector<Claim> claims, const Writer& writer) {
  std::vector<std::unique_ptr<Block>> fresh;  // all memory is had before anything changes
  for (const Claim& claim : claims) {
    auto block = std::make_unique<Block>();
    block->storage = &storage;
    block->killer = writer;
    block->bytes = Storage::create(*allocator_, nullptr, block_bytes(claim.region), Category::preserved);
    if (std::byte* to = block->bytes->raw()) {
      for (const Run& run : claim.region.runs()) {
        copy_bytes(storage.raw() + run.lo, to, run.hi - run.lo);
        to += run.hi - run.lo;
      }
    }
    fresh.push_back(std::move(block));
  }
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Block* block = fresh[i].get();
    for (ReadId id : claims[i].readers) {
      Read& read = reads_[id];
      read.live = subtract(read.live, claims[i].region);
      read.pieces.push_back({block, claims[i].region});
    }
    ++ever_.blocks;
    ever_.block_bytes += claims[i].region.bytes();
    ever_.row_list_bytes += row_list_bytes(claims[i].region);
    block->readers = std::move(claims[i].readers);
    block->region = std::move(claims[i].region);
    ledger.blocks.push_back(std::move(fresh[i]));
  }
}

void Preserver::before_host_access(Storage& storage) noexcept {
  if (storage.ledger) close(*static_cast<Ledger*>(storage.ledger));
}

void Preserver::storage_dies(Storage& storage) noexcept {
  delete static_cast<Ledger*>(storage.ledger);
  storage.ledger = nullptr;
}

Preserver::Totals Preserver::live() const {
  Totals totals;
  std::vector<const Copy*> copies;
  std::vector<const Block*> blocks;
  for (const Read& read : reads_) {
    if (!read.used) continue;
    ++totals.reads;
    if (read.copy) copies.push_back(read.copy.get());
    for (const Piece& piece : read.pieces) blocks.push_back(piece.block);
  }
  auto unique = [](auto& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  unique(copies);
  unique(blocks);
  for (const Copy* copy : copies) totals.copy_bytes += copy->bytes->bytes();
  for (const Block* block : blocks) {
    totals.block_bytes += block->plain ? block->bytes->bytes() : block->region.bytes();
    totals.row_list_bytes += block->plain ? 0 : row_list_bytes(block->region);
  }
  totals.copies = static_cast<std::int64_t>(copies.size());
  totals.blocks = static_cast<std::int64_t>(blocks.size());
  return totals;
}

std::vector<Preserver::Kept> Preserver::kept(ReadId id) const {
  const Read& read = reads_[id];
  std::vector<Kept> all;
  if (read.copy) all.push_back({read.copy.get(), true, read.copy->bytes->bytes(), 0, read.copy->killer});
  for (const Piece& piece : read.pieces) {
    const Block& block = *piece.block;
    if (block.plain) all.push_back({&block, true, block.bytes->bytes(), 0, block.killer});
    else all.push_back({&block, false, block.region.bytes(), row_list_bytes(block.region), block.killer});
  }
  return all;
}

}  // namespace reprise
