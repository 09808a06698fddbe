#include "memory/owed_index.h"

#include <algorithm>
#include <limits>
#include <new>

#include "memory/owed_pieces.h"

namespace reprise {

namespace {
constexpr std::size_t kMostPieces = 256;  // of a chunk; a change rewrites the chunks it touches
constexpr std::uint32_t kNoClaim = 0xffffffff;

/// Whether `list` has room for `more`, or can be given it.
template <class List>
bool has_room(List& list, std::size_t more) noexcept {
  try {
    grow_room(list, more);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}
}  // namespace

// ---- chunks

/// The last chunk that begins at or before `at`, else the first.
std::size_t OwedIndex::chunk_at(std::int64_t at) const {
  auto above = std::partition_point(chunks_.begin(), chunks_.end(), [at](const Chunk& c) { return c.lo <= at; });
  return above == chunks_.begin() ? 0 : static_cast<std::size_t>(above - chunks_.begin()) - 1;
}

/// Moves on to the next chunk from `chunk`, and the next run from `run`, that may have bytes in common.
bool OwedIndex::next_touched(std::size_t& chunk, std::span<const Run> runs, std::size_t& run) const {
  while (run < runs.size()) {
    chunk = std::max(chunk, chunk_at(runs[run].lo));
    if (chunk < chunks_.size() && chunks_[chunk].hi <= runs[run].lo) ++chunk;
    if (chunk >= chunks_.size()) return false;
    if (runs[run].hi > chunks_[chunk].lo) return true;
    run = seek_above(runs, run, chunks_[chunk].lo);
  }
  return false;
}

/// Room for all that a chunk of `pieces` and `runs` can turn into.
OwedPiece* OwedIndex::out_for(std::size_t pieces, std::size_t runs) {
  std::size_t most = 2 * (pieces + runs) + 2;
  if (scratch_->out.size() < most) scratch_->out.resize(most);
  return scratch_->out.data();
}

void OwedIndex::Chunk::assign(std::span<const Piece> from) {
  pieces.assign(from.begin(), from.end());
  if (pieces.empty()) return;
  lo = pieces.front().lo;
  hi = pieces.back().hi;
}

/// The first `count` pieces of the scratch take the place of a chunk, as several chunks if they are many. Where memory
/// runs out all is as before; it cannot where the chunk has room for `count` pieces that are not many.
void OwedIndex::replace(std::size_t at, std::size_t count) {
  std::size_t parts = count <= kMostPieces ? 1 : (count + kMostPieces / 2 - 1) / (kMostPieces / 2);
  std::span<const Piece> out(scratch_->out.data(), count);
  auto part = [&](std::size_t p) {
    return out.subspan(count * p / parts, count * (p + 1) / parts - count * p / parts);
  };
  std::size_t before = chunks_[at].pieces.size();
  if (parts > 1) {
    RecycledVector<Chunk> more(parts - 1);
    for (std::size_t p = 1; p < parts; ++p) more[p - 1].assign(part(p));
    chunks_[at].pieces.reserve(part(0).size());
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  }
  chunks_[at].assign(part(0));
  piece_count_ += count - before;
}

/// The same where the chunk has room for `count` pieces: it stays one where there is no memory for more.
void OwedIndex::replace_in_room(std::size_t at, std::size_t count) noexcept {
  try {
    replace(at, count);
  } catch (const std::bad_alloc&) {
    piece_count_ += count - chunks_[at].pieces.size();
    chunks_[at].assign({scratch_->out.data(), count});
  }
}

/// Drops empty chunks and joins small neighbours, where there is memory for that.
void OwedIndex::tidy() noexcept {
  std::size_t kept = 0;
  for (Chunk& chunk : chunks_) {
    if (chunk.pieces.empty()) continue;
    std::size_t both = kept > 0 ? chunks_[kept - 1].pieces.size() + chunk.pieces.size() : kMostPieces;
    if (both <= kMostPieces / 2 && has_room(chunks_[kept - 1].pieces, chunk.pieces.size())) {
      Chunk& before = chunks_[kept - 1];
      before.pieces.insert(before.pieces.end(), chunk.pieces.begin(), chunk.pieces.end());
      before.hi = chunk.hi;
    } else {
      if (&chunks_[kept] != &chunk) chunks_[kept] = std::move(chunk);
      ++kept;
    }
  }
  chunks_.resize(kept);
}

// ---- reads come and go

OwedIndex::Slot OwedIndex::new_slot(Reader reader, bool whole, std::size_t runs) {
  Slot slot;
  if (free_.empty()) {
    slot = static_cast<Slot>(slots_.size());
    grow_room(slots_, 1);
    for (auto* list : {&free_, &dead_}) list->reserve(slots_.capacity());  // so that forget() and rewrite() have room
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot] = {reader, true, whole, false, 0, runs};
  return slot;
}

OwedIndex::SetId OwedIndex::with(SetId set, Slot slot) {
  if (sets_[set].child != 0 && sets_[set].child_slot == slot) return sets_[set].child;
  auto child = static_cast<SetId>(sets_.size());
  sets_.push_back({set, slot, 0, 0, 0, 0});
  sets_[set].child = child;
  sets_[set].child_slot = slot;
  return child;
}

/// Writes to the scratch the pieces of one chunk with the runs added from `run`, the rest of runs[i], up to `limit`.
std::size_t OwedIndex::add_to_chunk(std::span<const Piece> pieces, std::span<const Run> runs, std::size_t& i, Run& run,
                                    std::int64_t limit, Slot slot) {
  PiecesLeft left(pieces);
  PieceWriter out(out_for(pieces.size(), seek_above(runs, i, limit) - i + 1));
  SetId alone = with(0, slot);
  while (i < runs.size() && run.lo < limit) {
    Run part{run.lo, std::min(run.hi, limit)};
    left.put_below(part.lo, out);
    if (!left.none() && left.lo() < part.lo) {
      out.put(left.lo(), part.lo, left.set());
      left.skip_to(part.lo);
    }
    while (part.lo < part.hi) {
      bool owed = !left.none() && left.lo() <= part.lo;
      std::int64_t end = owed ? left.hi() : left.none() ? part.hi : left.lo();
      end = std::min(end, part.hi);
      out.join(part.lo, end, owed ? with(left.set(), slot) : alone);
      part.lo = end;
      if (owed) left.skip_to(end);
    }
    if (run.hi > limit)
      run.lo = limit;
    else if (++i < runs.size())
      run = runs[i];
  }
  left.put_rest(out);
  return out.count();
}

OwedIndex::Slot OwedIndex::add(const Region& region, Reader reader, bool whole) {
  if (dead_runs_ > 64 + piece_count_ / 4) rewrite();  // a run may have cut two pieces in three
  if (sets_.empty()) sets_.emplace_back();
  Slot slot = new_slot(reader, whole, region.run_count());
  try {
    add_runs(region.runs(), slot);
  } catch (...) {
    forget(slot);  // what has been entered so far is in no answer
    tidy();
    throw;
  }
  return slot;
}

void OwedIndex::add_runs(std::span<const Run> runs, Slot slot) {
  if (chunks_.empty() && !runs.empty()) chunks_.emplace_back();
  Run run = runs.empty() ? Run{} : runs.front();
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t at = chunk_at(run.lo);
    std::int64_t limit = at + 1 < chunks_.size() ? chunks_[at + 1].lo : std::numeric_limits<std::int64_t>::max();
    replace(at, add_to_chunk(chunks_[at].pieces, runs, i, run, limit, slot));
  }
}

void OwedIndex::forget(Slot slot) noexcept {
  slots_[slot].alive = false;
  dead_runs_ += slots_[slot].runs;
  dead_.push_back(slot);
}

void OwedIndex::clear() noexcept {
  chunks_.clear();
  sets_.clear();
  slots_.clear();
  free_.clear();
  dead_.clear();
  dead_runs_ = piece_count_ = 0;
}

// ---- look-up

OwedIndex::Claim& OwedIndex::Found::next_claim() {
  if (count_ == claims_.size()) claims_.emplace_back();
  return claims_[count_++];
}

void OwedIndex::Found::be_empty() {
  whole_.clear();
  count_ = 0;
}

void OwedIndex::Found::add_claim(Reader reader, std::span<const Run> runs) {
  Claim& claim = next_claim();
  claim.readers.assign(1, reader);
  claim.runs = runs;
}

std::uint32_t OwedIndex::Found::add_claim(std::span<const Reader> readers) {
  Claim& claim = next_claim();
  claim.readers.assign(readers.begin(), readers.end());
  claim.own.clear();
  return static_cast<std::uint32_t>(count_ - 1);
}

/// Runs that touch are one.
void OwedIndex::Found::add_run(std::uint32_t claim, const Run& run) {
  std::vector<Run>& own = claims_[claim].own;
  if (!own.empty() && own.back().hi == run.lo)
    own.back().hi = run.hi;
  else
    own.push_back(run);
}

void OwedIndex::Found::finish() {
  for (std::size_t n = 0; n < count_; ++n) claims_[n].runs = claims_[n].own;
}

/// A number that no set and no slot holds, for the next query. After 2^32 queries, which a long training may ask, they
/// are counted from 1 again.
void OwedIndex::next_stamp() {
  if (++stamp_ != 0) return;
  for (Set& set : sets_) set.stamp = 0;
  for (SlotInfo& slot : slots_) slot.stamp = 0;
  stamp_ = 1;
}

/// The claim of `found` for the bytes of `set`; notes the reads of it that want a whole copy.
std::uint32_t OwedIndex::classify(SetId set, PreserveBy by, Found& found) {
  scratch_->readers.clear();
  for (SetId at = set; at != 0; at = sets_[at].parent) {
    SlotInfo& info = slots_[sets_[at].slot];
    bool whole = !info.settled && (by == PreserveBy::as_asked ? info.whole : by == PreserveBy::whole);
    if (info.alive && !whole) scratch_->readers.push_back(info.reader);
    if (info.alive && whole && info.stamp != stamp_) {
      info.stamp = stamp_;
      found.whole_.push_back(info.reader);
    }
    SetId& parent = sets_[at].parent;  // from now on past the forgotten ones
    while (parent != 0 && !slots_[sets_[parent].slot].alive) parent = sets_[parent].parent;
  }
  if (scratch_->readers.empty()) return kNoClaim;
  auto [at, fresh] = scratch_->claim_of.emplace(scratch_->readers, static_cast<std::uint32_t>(found.count_));
  if (!fresh) return at->second;
  std::reverse(scratch_->readers.begin(), scratch_->readers.end());
  found.add_claim(scratch_->readers);
  return at->second;
}

void OwedIndex::find(const Region& region, PreserveBy by, Found& found) {
  found.be_empty();
  std::span<const Run> runs = region.runs();
  std::size_t c = 0, i = 0;
  if (!next_touched(c, runs, i)) return;
  next_stamp();
  scratch_->claim_of.clear();
  do {
    std::span<const Piece> pieces = chunks_[c].pieces;
    std::size_t k = seek_above(pieces, 0, runs[i].lo);
    while (k < pieces.size() && i < runs.size()) {
      Run both{std::max(pieces[k].lo, runs[i].lo), std::min(pieces[k].hi, runs[i].hi)};
      if (both.lo < both.hi) {
        Set& set = sets_[pieces[k].set];
        if (set.stamp != stamp_) {
          set.mark = classify(pieces[k].set, by, found);
          set.stamp = stamp_;
        }
        if (set.mark != kNoClaim) found.add_run(set.mark, both);
      }
      if (pieces[k].hi <= runs[i].hi)
        k = seek_above(pieces, k + 1, runs[i].lo);
      else
        i = seek_above(runs, i + 1, pieces[k].lo);
    }
    ++c;
  } while (next_touched(c, runs, i));
  found.finish();
}

// ---- a write has been made good

/// Writes to the scratch the pieces of one chunk without the runs from `i` on.
std::size_t OwedIndex::take_from_chunk(std::span<const Piece> pieces, std::span<const Run> runs, std::size_t& i) {
  PiecesLeft left(pieces);
  PieceWriter out(out_for(pieces.size(), seek_above(runs, i, pieces.back().hi) - i + 1));
  while (!left.none() && i < runs.size()) {
    left.put_below(runs[i].lo, out);
    if (left.none()) break;
    if (runs[i].hi <= left.lo()) {
      i = seek_above(runs, i, left.lo());
      continue;
    }
    if (left.lo() < runs[i].lo) out.put(left.lo(), runs[i].lo, left.set());
    if (left.hi() <= runs[i].hi)
      left.drop_first();
    else
      left.skip_to(runs[i++].hi);
  }
  left.put_rest(out);
  return out.count();
}

void OwedIndex::make_room(const Region& region) {
  std::span<const Run> runs = region.runs();
  for (std::size_t c = 0, i = 0; next_touched(c, runs, i); ++c) {
    RecycledVector<Piece>& pieces = chunks_[c].pieces;
    std::size_t cuts = seek_above(runs, i, chunks_[c].hi) - i + 1;  // each makes two pieces of one at most
    out_for(pieces.size(), cuts);
    grow_room(pieces, cuts);
  }
}

void OwedIndex::take(const Region& region) {
  make_room(region);
  std::span<const Run> runs = region.runs();
  std::size_t c = 0, i = 0;
  bool emptied = false;
  while (next_touched(c, runs, i)) {
    bool covered = runs[i].lo <= chunks_[c].lo && chunks_[c].hi <= runs[i].hi;
    std::size_t left = covered ? 0 : take_from_chunk(chunks_[c].pieces, runs, i);
    emptied |= left == 0;
    std::size_t before = chunks_.size();
    replace_in_room(c, left);
    c += 1 + chunks_.size() - before;
  }
  if (emptied) tidy();
}

// ---- writing everything anew without the forgotten reads

/// The set of `sets` that stands for what is left of `set`.
OwedIndex::SetId OwedIndex::rewritten(SetId set, RecycledVector<Set>& sets) {
  scratch_->path.clear();
  SetId at = set;
  for (; at != 0 && sets_[at].stamp != stamp_; at = sets_[at].parent) scratch_->path.push_back(at);
  SetId now = at == 0 ? 0 : sets_[at].mark;
  for (auto step = scratch_->path.rbegin(); step != scratch_->path.rend(); ++step) {
    if (slots_[sets_[*step].slot].alive) {
      sets.push_back({now, sets_[*step].slot, 0, 0, 0, 0});
      now = static_cast<SetId>(sets.size() - 1);
    }
    sets_[*step].stamp = stamp_;
    sets_[*step].mark = now;
  }
  return now;
}

void OwedIndex::rewrite() {
  next_stamp();
  RecycledVector<Set> sets(1);
  std::size_t longest = 0;
  for (const Chunk& chunk : chunks_) {
    for (const Piece& piece : chunk.pieces) rewritten(piece.set, sets);
    longest = std::max(longest, chunk.pieces.size());
  }
  out_for(longest, 0);
  // From here on no memory is taken: every set knows what stands for it, and no chunk grows.
  for (std::size_t c = 0; c < chunks_.size();) {
    PieceWriter out(scratch_->out.data());
    std::size_t before = chunks_.size();
    for (const Piece& piece : chunks_[c].pieces) {
      if (SetId set = rewritten(piece.set, sets)) out.join(piece.lo, piece.hi, set);
    }
    replace_in_room(c, out.count());
    c += 1 + chunks_.size() - before;
  }
  tidy();
  sets_ = std::move(sets);
  free_.insert(free_.end(), dead_.begin(), dead_.end());
  dead_.clear();
  dead_runs_ = 0;
}

}  // namespace reprise
