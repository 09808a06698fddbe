// The bytes of one storage that pending reads owe and nobody has overwritten yet, as sorted, disjoint pieces, each with
// the set of reads that owe it. The preserver asks it, before a write, which reads the write would break and where.
//
// Invariant: pieces of equal bytes never overlap, and a read that is forgotten is in no answer. A look-up costs
// O(log n + what it touches) in the number n of pieces, whatever the size of the storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/allocator.h"
#include "core/recycled.h"
#include "core/region.h"

namespace reprise {

// Note on sets. Most pieces share few sets, and sets only grow by the read that comes: so a set is a node with a
// parent, "the parent's reads and this one", and adding a read to a set finds or makes one child. A forgotten read
// stays in its nodes and is passed over; when such reads hold many pieces everything is written anew without them.

struct OwedPiece {
  std::int64_t lo = 0, hi = 0;
  std::uint32_t set = 0;
};

class OwedIndex {
 public:
  using Reader = std::uint32_t;  // the preserver's number of the read
  using Slot = std::uint32_t;    // the index's own number of it

  /// Bytes that the same reads owe.
  struct Claim {
    std::vector<Reader> readers;
    std::span<const Run> runs;  // canonical: sorted, disjoint, not touching

   private:
    friend class OwedIndex;
    std::vector<Run> own;
  };
  /// An answer; made once and filled anew, so that its memory is reused.
  class Found {
   public:
    bool empty() const { return whole_.empty() && count_ == 0; }
    /// Reads that want to be kept by a copy of the whole storage.
    std::span<const Reader> whole() const { return whole_; }
    /// The bytes of all others, by the set of reads that owe them, in the order of their first bytes.
    std::span<const Claim> claims() const { return {claims_.data(), count_}; }

    /// For a storage with few pending reads, which need no index. `runs` must outlive the answer.
    void be_empty();
    void add_whole(Reader reader) { whole_.push_back(reader); }
    void add_claim(Reader reader, std::span<const Run> runs);
    /// A claim without bytes; its place. add_run() gives it some, in ascending order; finish() ends that for all
    /// claims.
    std::uint32_t add_claim(std::span<const Reader> readers);
    void add_run(std::uint32_t claim, const Run& run);
    void finish();

   private:
    friend class OwedIndex;
    Claim& next_claim();

    std::vector<Reader> whole_;
    std::vector<Claim> claims_;  // the first count_ are in use
    std::size_t count_ = 0;
  };

  /// Working memory, shared by many indexes.
  class Scratch {
   private:
    friend class OwedIndex;
    std::vector<OwedPiece> out;  // what takes the place of a chunk; as long as it ever had to be
    RecycledVector<Reader> readers;
    std::vector<std::uint32_t> path;
    using Readers = RecycledVector<Reader>;
    std::map<Readers, std::uint32_t, std::less<Readers>, Recycled<std::pair<const Readers, std::uint32_t>>> claim_of;
  };

  /// `answered`: how many queries the index is taken to have answered; for tests of what comes after 2^32 of them.
  explicit OwedIndex(Scratch& scratch, std::uint32_t answered = 0) : stamp_(answered), scratch_(&scratch) {}

  /// From now on `reader` owes `region`, by a whole copy or by regions. Where memory runs out nobody owes more.
  Slot add(const Region& region, Reader reader, bool whole);
  /// The read owes nothing more.
  void forget(Slot slot) noexcept;
  /// Who owes bytes of `region`, kept as each asked or as `by` says. (Not const: shortens the sets that it passes.)
  void find(const Region& region, PreserveBy by, Found& found);
  /// Some bytes of the read are kept by region, so all later ones are.
  void settle(Slot slot) { slots_[slot].settled = true; }
  /// The bytes of `region` are owed by nobody any more. Cannot fail after make_room() for the same.
  void take(const Region& region);
  void make_room(const Region& region);
  void clear() noexcept;

  bool empty() const { return slots_.empty(); }
  std::size_t pieces() const { return piece_count_; }

 private:
  using SetId = std::uint32_t;  // 0: nobody
  struct Set {
    SetId parent = 0;
    Slot slot = 0;
    SetId child = 0;  // the set with the read that came last, if it was added to this one
    Slot child_slot = 0;
    std::uint32_t stamp = 0, mark = 0;  // what the query `stamp`, from 1 on, found out about the set
  };
  struct SlotInfo {
    Reader reader = 0;
    bool alive = false, whole = false, settled = false;
    std::uint32_t stamp = 0;
    std::size_t runs = 0;
  };
  using Piece = OwedPiece;
  struct Chunk {  // never empty between calls
    std::int64_t lo = 0, hi = 0;
    RecycledVector<Piece> pieces;
    void assign(std::span<const Piece> from);
  };

  std::size_t chunk_at(std::int64_t at) const;
  bool next_touched(std::size_t& chunk, std::span<const Run> runs, std::size_t& run) const;
  Slot new_slot(Reader reader, bool whole, std::size_t runs);
  SetId with(SetId set, Slot slot);
  OwedPiece* out_for(std::size_t pieces, std::size_t runs);
  void add_runs(std::span<const Run> runs, Slot slot);
  std::size_t add_to_chunk(std::span<const Piece> pieces, std::span<const Run> runs, std::size_t& i, Run& run,
                           std::int64_t limit, Slot slot);
  std::size_t take_from_chunk(std::span<const Piece> pieces, std::span<const Run> runs, std::size_t& i);
  void replace(std::size_t chunk, std::size_t count);
  void replace_in_room(std::size_t chunk, std::size_t count) noexcept;
  void tidy() noexcept;
  void next_stamp();
  std::uint32_t classify(SetId set, PreserveBy by, Found& found);
  void rewrite();
  SetId rewritten(SetId set, RecycledVector<Set>& sets);

  std::vector<Chunk> chunks_;
  RecycledVector<Set> sets_;
  std::vector<SlotInfo> slots_;
  std::vector<Slot> free_, dead_;  // dead: still named by sets
  std::size_t dead_runs_ = 0, piece_count_ = 0;
  std::uint32_t stamp_;
  Scratch* scratch_;
};

}  // namespace reprise
