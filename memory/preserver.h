// Preserver: keeps the bytes of every owed read available, at the versions it saw, until nothing owes them. Called by
// the tape (owe, drop), by storages (before a write) and by the engine (serve).
//
// Invariant: for every pending read r, r.region = the bytes of it not written since + those of its blocks, disjointly;
// or r is bound to a copy. It holds after a call that throws too, the heap's std::bad_alloc included: what was asked
// for has then not happened. See the note on blocks below.
#pragma once

#include <cstddef>
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
// Who owes which live bytes is looked up in an index per storage (owed_index.h), which reads enter at the first write
// that finds many of them pending: most are dropped before that, and few are asked one by one (preserver_few.cpp) until
// that has cost what an index would. The first write that breaks a read settles how it is kept, if the write says so; a
// read that has blocks stays with blocks.

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
  explicit Preserver(Allocator& allocator);
  ~Preserver() override;
  Preserver(const Preserver&) = delete;
  Preserver& operator=(const Preserver&) = delete;

  /// Hash every owed region at its read and check it when it is served: catches writers that passed no door.
  void set_guard(bool on);

  /// For dry traces in which regions bound what the real step touches: what is made bounds what the real step makes,
  /// whose reads may part the bytes of one write, and be broken by different writes, in ways not known yet. Several
  /// tapes may ask for it: it ends when each of them has taken its word back.
  void set_bounding(bool on);

  /// The negative control: nothing is preserved, and what was overwritten is served as it is now.
  void set_unchecked(bool on);
  bool unchecked() const;

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
  /// The storage's clock when the read was made.
  Clock version(ReadId read) const;
  /// All bytes that the read saw, as offsets in its storage.
  const Region& region(ReadId read) const;
  /// Who had written the storage last when the read was made; meaningless where version(read) is 0.
  const Writer& writer(ReadId read) const;
  /// Whether any of the read's bytes have been overwritten since.
  bool broken(ReadId read) const;
  /// A private copy of bytes `window` of the read's storage, which hold its region; undefined outside that. Opens
  /// nothing. Errors (replay, guard only), as serve().
  StorageRef materialise(ReadId read, const Run& window);
  /// The same, as long as the storage.
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
  Totals ever() const;
  /// How many writes by host code have had owed bytes saved.
  std::uint64_t host_saves() const;
  /// One thing that holds overwritten bytes: a copy of the storage, or a block.
  struct Kept {
    const void* id = nullptr;  // tells things apart: several reads may share one
    bool whole = false;        // a copy of the whole storage
    std::int64_t data_bytes = 0, row_list_bytes = 0;
    Writer killer;  // whose write it was made for
  };
  /// What holds the overwritten bytes of `read`; empty while all of them are live.
  std::vector<Kept> kept(ReadId read) const;
  int open_blocks() const;

 private:
  struct State;  // ledger.h
  std::unique_ptr<State> state_;
};

}  // namespace reprise
