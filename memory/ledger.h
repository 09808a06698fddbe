// What the preserver knows: reads, and per storage its pending reads, blocks and the index of owed bytes. Shared by
// preserver.cpp, preserver_few.cpp and time_machine.cpp alone.
//
// Invariant: a storage has a ledger exactly while it has obligations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/recycled.h"
#include "memory/owed_index.h"
#include "memory/preserve_listener.h"
#include "memory/preserver.h"
#include "memory/row_list.h"

namespace reprise {

struct Preserver::State {
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  /// Bytes that one write killed: packed rows with their list, or, if `plain`, a copy of the whole storage.
  struct Block {
    static void* operator new(std::size_t bytes) { return take_recycled(bytes); }
    static void operator delete(void* block, std::size_t bytes) noexcept { give_recycled(block, bytes); }

    Storage* storage = nullptr;
    StorageRef bytes;
    RowList rows;  // unless plain
    bool plain = false;
    bool open = false;
    Region open_part;           // of a plain block
    Region wanted;              // of a plain block: what the reads being served need of it
    std::uint64_t serving = 0;  // the last serve() that wanted it
    std::int64_t readers = 0;
    std::size_t place = kNowhere;  // in Ledger::blocks
    std::size_t open_place = 0;    // in Ledger::open, while open
    Writer killer;
  };
  struct Copy {
    StorageRef bytes;
    Writer killer;
  };
  using Blocks = RecycledVector<std::unique_ptr<Block>>;
  struct Piece {
    Block* block;
    Region part;  // what this read owes of a plain block; a packed one it owes in full
  };
  /// Where the ledger knows a pending read from.
  enum class Place : std::uint8_t { none, fresh, index };
  struct Read {
    Storage* storage = nullptr;
    Region region;  // all bytes that the read saw
    Region broken;  // of these, what was overwritten since, while it is fresh
    Clock clock = 0;
    Writer writer;  // the last before the read
    StateOption option = StateOption::whole;
    Place place = Place::none;
    std::uint32_t at = 0;  // in Ledger::fresh, or its slot of the index
    std::vector<Piece> pieces;
    std::shared_ptr<Copy> copy;
    std::uint64_t hash = 0;
    ReadLabel label;
    bool used = false;
  };
  struct Ledger {
    Ledger(OwedIndex::Scratch& scratch, Preserver& owner) : owner(&owner), index(scratch) {}
    Preserver* owner;
    std::vector<ReadId> fresh;  // pending, not yet in the index
    std::int64_t looked = 0;    // runs that writes looked through in reads that are not in the index
    OwedIndex index;            // the other pending reads that are bound to no copy
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Block*> open;
    bool listed = false;  // in open_storages
  };

  State(Preserver& own, Allocator& from);

  static Ledger& of(const Storage& storage) { return *static_cast<Ledger*>(storage.ledger); }
  Ledger& ledger_of(Storage& storage);
  void give_back(Storage& storage) noexcept;
  void index_fresh(Ledger& ledger);
  // preserver_few.cpp
  bool has_few(const Ledger& ledger) const;
  void find_in_few(Ledger& ledger, const Region& region, PreserveBy by);
  void part_broken();
  void unite_broken();
  void take_from_few(Ledger& ledger) noexcept;
  // preserver.cpp again
  void unlist(Ledger& ledger, Read& read) noexcept;
  StorageRef copy_bytes(Storage& storage);
  std::shared_ptr<Copy> make_copy(Storage& storage, const Writer& writer);
  Blocks make_blocks(Storage& storage, const Writer& writer);
  ReadId new_read();
  void give_pieces(const Blocks& blocks);
  void take_pieces_back() noexcept;
  void bind(Ledger& ledger, Blocks blocks) noexcept;
  void release(Ledger& ledger, Block* block, MovedBytes& moved) noexcept;
  // time_machine.cpp
  static void exchange(Block& block, MovedBytes& moved) noexcept;
  static void open(Ledger& ledger, Block* block, MovedBytes& moved);
  static void close(Ledger& ledger, Block* block, MovedBytes& moved) noexcept;
  static void close(Ledger& ledger) noexcept;
  void serve_storage(Storage& storage, std::span<const ReadId> ids);
  static std::byte* base_of(const Read& read);
  void verify(const Read& read, const std::byte* base) const;
  void copy_out(const Read& read, std::byte* to) const;
  static std::uint64_t hash_of(const Read& read, const std::byte* base);

  Preserver* self;
  Allocator* allocator;
  bool guard = false;
  bool unchecked = false;
  int bounding = 0;  // how many tapes ask for it
  std::vector<Read> reads;
  std::vector<ReadId> free;
  std::vector<Storage*> open_storages;
  std::vector<std::unique_ptr<Ledger>> spare;  // for storages to come
  OwedIndex::Scratch scratch;
  std::uint64_t servings = 0;
  OwedIndex::Found found;  // by the write under way
  struct Broken {
    ReadId read;
    Region part;   // by this write
    Region after;  // by all writes, this one among them; made once the copies are
  };
  std::vector<Broken> broken;  // by it, of reads that are in no index
  std::vector<Block*> wanted;  // by the reads being served
  Totals ever;
  std::uint64_t host_saves = 0;
};

}  // namespace reprise
