#include "memory/placement.h"

#include <bit>

namespace reprise {

// Note: two levels of search. The bin of a request may hold blocks that are too small, so its tree is searched for the
// least block that fits; every block of a higher bin fits, so there the least one is taken. The result is the exact best
// fit, and the tree that is searched is small, because it holds the free blocks of one bin only. Trees are treaps whose
// priorities are a hash of the record's number: balanced in expectation, and the same in every run.

namespace {
constexpr std::int64_t kGranule = 64;
}

int Placement::bin_of(std::int64_t size) {
  auto granules = static_cast<std::uint64_t>(size / kGranule);
  if (granules < kExactBins) return static_cast<int>(granules);
  int top = 63 - std::countl_zero(granules);
  return kExactBins + (top - 6) * 16 + static_cast<int>((granules >> (top - 4)) & 15);
}

bool Placement::before(Index a, Index b) const {
  const Node& x = nodes_[a];
  const Node& y = nodes_[b];
  return x.size != y.size ? x.size < y.size : x.offset < y.offset;
}

void Placement::reserve_one() {
  // A placement adds at most two records: the block and what is left of the free run it was cut from.
  if (nodes_.capacity() - nodes_.size() < 2) nodes_.reserve(nodes_.size() * 2 + 64);
  if (2 * (used_count_ + 1) <= table_.size()) return;
  std::size_t size = table_.empty() ? 128 : table_.size() * 2;
  std::vector<Index> old(size, kNone);
  old.swap(table_);
  table_shift_ = 64 - std::countr_zero(size);
  used_count_ = 0;
  for (Index n : old) {
    if (n != kNone) index_used(n);
  }
}

Placement::Index Placement::new_node() {
  if (spare_ != kNone) {
    Index n = spare_;
    spare_ = nodes_[n].after;
    nodes_[n] = Node{};
    return n;
  }
  nodes_.emplace_back();
  return static_cast<Index>(nodes_.size() - 1);
}

void Placement::drop_node(Index n) {
  nodes_[n].state = State::spare;
  nodes_[n].after = spare_;
  spare_ = n;
}

// Trees of free runs.

void Placement::split_tree(Index root, Index key, Index* low, Index* high) {
  while (root != kNone) {
    if (before(root, key)) {
      *low = root;
      low = &nodes_[root].right;
      root = *low;
    } else {
      *high = root;
      high = &nodes_[root].left;
      root = *high;
    }
  }
  *low = kNone;
  *high = kNone;
}

Placement::Index Placement::join_trees(Index low, Index high) {
  Index root = kNone;
  Index* place = &root;
  while (low != kNone && high != kNone) {
    if (priority(low) > priority(high)) {
      *place = low;
      place = &nodes_[low].right;
      low = *place;
    } else {
      *place = high;
      place = &nodes_[high].left;
      high = *place;
    }
  }
  *place = low != kNone ? low : high;
  return root;
}

void Placement::put_free(Index n) {
  int bin = bin_of(nodes_[n].size);
  Index* place = &roots_[static_cast<std::size_t>(bin)];
  while (*place != kNone && priority(*place) > priority(n)) {
    place = before(*place, n) ? &nodes_[*place].right : &nodes_[*place].left;
  }
  Index below = *place;
  *place = n;
  split_tree(below, n, &nodes_[n].left, &nodes_[n].right);
  filled_[static_cast<std::size_t>(bin / 64)] |= std::uint64_t{1} << (bin % 64);
  nodes_[n].state = State::free;
  ++free_count_;
}

void Placement::take_free(Index n) {
  int bin = bin_of(nodes_[n].size);
  Index* root = &roots_[static_cast<std::size_t>(bin)];
  Index* place = root;
  while (*place != n) place = before(*place, n) ? &nodes_[*place].right : &nodes_[*place].left;
  *place = join_trees(nodes_[n].left, nodes_[n].right);
  if (*root == kNone) filled_[static_cast<std::size_t>(bin / 64)] &= ~(std::uint64_t{1} << (bin % 64));
  --free_count_;
}

Placement::Index Placement::take_fit(std::int64_t size) {
  int bin = bin_of(size);
  Index best = kNone;
  for (Index n = roots_[static_cast<std::size_t>(bin)]; n != kNone;) {
    bool fits = nodes_[n].size >= size;
    if (fits) best = n;
    n = fits ? nodes_[n].left : nodes_[n].right;
  }
  if (best == kNone) {
    ++bin;
    auto word = static_cast<std::size_t>(bin / 64);
    if (word == filled_.size()) return kNone;
    std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << (bin % 64));
    while (bits == 0) {
      if (++word == filled_.size()) return kNone;
      bits = filled_[word];
    }
    best = roots_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
    while (nodes_[best].left != kNone) best = nodes_[best].left;
  }
  take_free(best);
  return best;
}

// Places and frees.

Placement::Index Placement::grow_tail(std::int64_t size) {
  bool tail_is_free = last_ != kNone && nodes_[last_].state == State::free;
  std::int64_t start = tail_is_free ? nodes_[last_].offset : extent_;
  if (size > capacity_ - start) return kNone;
  Index n = last_;
  if (tail_is_free) {
    take_free(n);
  } else {
    n = new_node();
    nodes_[n].offset = start;
    nodes_[n].before = last_;
    if (last_ != kNone) nodes_[last_].after = n;
    last_ = n;
  }
  nodes_[n].size = size;
  extent_ = start + size;
  return n;
}

std::int64_t Placement::place(std::int64_t size, const BlockInfo& info) noexcept {
  Index n = take_fit(size);
  if (n == kNone) n = grow_tail(size);
  if (n == kNone) return -1;
  if (nodes_[n].size > size) {
    Index rest = new_node();
    Node& block = nodes_[n];
    nodes_[rest].offset = block.offset + size;
    nodes_[rest].size = block.size - size;
    nodes_[rest].before = n;
    nodes_[rest].after = block.after;
    if (block.after != kNone) nodes_[block.after].before = rest;
    if (last_ == n) last_ = rest;
    block.after = rest;
    block.size = size;
    put_free(rest);
  }
  nodes_[n].state = State::used;
  nodes_[n].info = info;
  index_used(n);
  return nodes_[n].offset;
}

BlockInfo Placement::free(std::int64_t offset) noexcept {
  std::size_t slot = slot_of(offset);
  Index n = table_[slot];
  unindex_used(slot);
  BlockInfo info = nodes_[n].info;
  Index lower = nodes_[n].before, upper = nodes_[n].after;
  if (lower != kNone && nodes_[lower].state == State::free) {
    take_free(lower);
    nodes_[n].offset = nodes_[lower].offset;
    nodes_[n].size += nodes_[lower].size;
    nodes_[n].before = nodes_[lower].before;
    if (nodes_[n].before != kNone) nodes_[nodes_[n].before].after = n;
    drop_node(lower);
  }
  if (upper != kNone && nodes_[upper].state == State::free) {
    take_free(upper);
    nodes_[n].size += nodes_[upper].size;
    nodes_[n].after = nodes_[upper].after;
    if (nodes_[n].after != kNone) nodes_[nodes_[n].after].before = n;
    if (last_ == upper) last_ = n;
    drop_node(upper);
  }
  put_free(n);
  return info;
}

void Placement::shrink_to(std::int64_t extent) noexcept {
  if (extent >= extent_) return;
  Index n = last_;
  take_free(n);
  extent_ = extent;
  nodes_[n].size = extent - nodes_[n].offset;
  if (nodes_[n].size > 0) {
    put_free(n);
    return;
  }
  last_ = nodes_[n].before;
  if (last_ != kNone) nodes_[last_].after = kNone;
  drop_node(n);
}

// The table from offsets to used blocks.

std::size_t Placement::home_of(std::int64_t offset) const {
  return static_cast<std::size_t>((static_cast<std::uint64_t>(offset / kGranule) * 0x9E3779B97F4A7C15u) >> table_shift_);
}

void Placement::index_used(Index n) {
  std::size_t slot = home_of(nodes_[n].offset);
  while (table_[slot] != kNone) slot = (slot + 1) & (table_.size() - 1);
  table_[slot] = n;
  ++used_count_;
}

std::size_t Placement::slot_of(std::int64_t offset) const {
  std::size_t slot = home_of(offset);
  while (table_[slot] != kNone && nodes_[table_[slot]].offset != offset) slot = (slot + 1) & (table_.size() - 1);
  return slot;
}

void Placement::unindex_used(std::size_t slot) {
  // Moves later entries of the same cluster back, so that no search ends early at the gap.
  std::size_t mask = table_.size() - 1;
  for (std::size_t next = (slot + 1) & mask; table_[next] != kNone; next = (next + 1) & mask) {
    std::size_t home = home_of(nodes_[table_[next]].offset);
    if (((next - home) & mask) >= ((next - slot) & mask)) {
      table_[slot] = table_[next];
      slot = next;
    }
  }
  table_[slot] = kNone;
  --used_count_;
}

BlockInfo* Placement::find(std::int64_t offset) noexcept {
  if (table_.empty()) return nullptr;
  Index n = table_[slot_of(offset)];
  return n == kNone ? nullptr : &nodes_[n].info;
}

}  // namespace reprise
