// Preserver: keeps the bytes of every owed read available, at the versions it saw, until nothing owes them. Called by
// the tape (owe, drop), by storages (before a write) and by the engine (serve).
//
// Invariant: for every pending read r, r.region = r.live (bytes not written since) + the parts of its pieces,
// disjointly; or r is bound to a copy. See the note on blocks below.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/region.h"
#include "core/storage.h"

namespace reprise {

// Note on blocks. Nothing is copied until a write would break an obligation. Then reads that asked for `whole` share
// one copy of the storage; for reads that asked for `region` the bytes that the write covers and they owe go into
// blocks, one per (killing write, set of reads that owe those bytes). A read owes each byte at one version, which sits
// in the block of the write that killed it; so the blocks of one read are disjoint and hold exactly its bytes, and
// there is no chain. Serving a read exchanges its blocks with the live bytes (time_machine.cpp); a copy costs nothing.

enum class StateOption : std::uint8_t { whole, region };
const char* to_string(StateOption option);

using ReadId = std::uint32_t;
constexpr ReadId kNoRead = 0xffffffffu;

/// Who owes a read, for error texts: "segment, op, tensor".
struct ReadLabel {
  const char* segment = "";
  const char* op = "";
  const char* operand = "";
};

class Preserver final : public WriteObserver {
 public:
  explicit Preserver(Allocator& allocator) : allocator_(&allocator) {}
  ~Preserver() override;
  Preserver(const Preserver&) = delete;
  Preserver& operator=(const Preserver&) = delete;

  /// Hash every owed region at its read and check it when it is served: catches writers that passed no door.
  void set_guard(bool on) { guard_ = on; }

  /// The negative control: nothing is preserved, and what was overwritten is served as it is now.
  void set_unchecked(bool on) { unchecked_ = on; }

  /// From now on the present bytes of `region` are owed. Costs no copy. The storage must outlive the read.
  ReadId owe(Storage& storage, const Region& region, StateOption option, const ReadLabel& label);
  /// Nothing owes the read any more: what was kept for it alone is freed. Closes what it had open.
  void drop(ReadId read) noexcept;

  /// Makes the bytes of all `reads` (of any storages; those of one storage must have been made at one clock) available
  /// at once. Afterwards base(read) is where the storage's byte 0 would be. Opens and closes blocks as needed.
  /// Errors (replay, guard only): the bytes are not those that the read saw.
  void serve(std::span<const ReadId> reads);
  /// The base address for a served read: the live storage, or the copy that it is bound to.
  std::byte* base(ReadId read) const;
  /// The storage's clock when the read was made, and whether any of its bytes have been overwritten since.
  Clock version(ReadId read) const { return reads_[read].clock; }
  /// All bytes that the read saw, as offsets in its storage.
  const Region& region(ReadId read) const { return reads_[read].region; }
  /// Who had written the storage last when the read was made; meaningless where version(read) is 0.
  const Writer& writer(ReadId read) const { return reads_[read].writer; }
  bool broken(ReadId read) const { return reads_[read].copy || !reads_[read].pieces.empty(); }
  /// A private copy of the read's bytes: `storage.bytes()` long, undefined outside its region. Opens nothing.
  StorageRef materialise(ReadId read);
  /// Puts the newest bytes back everywhere. Cannot fail.
  void close_all() noexcept;

  // WriteObserver
  void before_write(Storage& storage, const Region& region, const Writer& writer) override;
  void before_host_access(Storage& storage) noexcept override;
  void storage_dies(Storage& storage) noexcept override;

  /// For tests, explain and the meter of a step.
  struct Totals {
    std::int64_t reads = 0, copies = 0, blocks = 0;
    std::int64_t copy_bytes = 0, block_bytes = 0, row_list_bytes = 0;
  };
  Totals live() const;
  Totals ever() const { return ever_; }
  /// One thing that holds overwritten bytes: a copy of the storage, or a block.
  struct Kept {
    const void* id = nullptr;  // tells things apart: several reads may share one
    bool whole = false;        // a copy of the whole storage
    std::int64_t data_bytes = 0, row_list_bytes = 0;
    Writer killer;             // whose write it was made for
  };
  /// What holds the overwritten bytes of `read`; empty while all of them are live.
  std::vector<Kept> kept(ReadId read) const;
  int open_blocks() const;

 private:
  struct Block;
  struct Copy;
  struct Piece {
    Block* block;
    Region part;  // what this read owes of the block; the whole block unless it is a plain copy
  };
  struct Read {
    Storage* storage = nullptr;
    Region region;              // all bytes that the read saw
    Region live;                // those not overwritten since
    Clock clock = 0;
    Writer writer;              // the last before the read
    StateOption option = StateOption::whole;
    std::vector<Piece> pieces;
    std::shared_ptr<Copy> copy;
    std::uint64_t hash = 0;
    ReadLabel label;
    bool used = false;
  };
  struct Copy {
    StorageRef bytes;
    Writer killer;
  };
  struct Block {
    Storage* storage = nullptr;
    StorageRef bytes;           // packed runs of `region`, then nothing; or, if `plain`, a copy of the whole storage
    Region region;
    bool plain = false;
    bool open = false;
    Region open_part;
    std::vector<ReadId> readers;
    Writer killer;
  };
  struct Ledger {
    std::vector<ReadId> reads;  // pending, in order of registration
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Block*> open;
  };
  struct Claim {                // bytes of one write that a set of reads owes
    Region region;
    std::vector<ReadId> readers;
  };

  Ledger& ledger_of(Storage& storage);
  std::vector<Claim> partition(const Ledger& ledger, const Region& region);
  void make_copy(Storage& storage, Ledger& ledger, const Region& region, const Writer& writer);
  void make_blocks(Storage& storage, Ledger& ledger, std::vector<Claim> claims, const Writer& writer);
  void make_plain_block(Storage& storage, Ledger& ledger, const std::vector<Claim>& claims, const Writer& writer);
  void exchange(Block& block) noexcept;
  void close(Ledger& ledger) noexcept;
  void remove_reader(Ledger& ledger, Block* block, ReadId read) noexcept;
  void verify(const Read& read) const;
  void copy_out(const Read& read, std::byte* to) const;
  std::uint64_t hash_of(const Read& read) const;

  Allocator* allocator_;
  bool guard_ = false;
  bool unchecked_ = false;
  std::vector<Read> reads_;
  std::vector<ReadId> free_;
  std::vector<Storage*> open_storages_;
  Totals ever_;
};

}  // namespace reprise
