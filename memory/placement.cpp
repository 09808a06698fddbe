#include "memory/placement.h"

#include <algorithm>
#include <bit>

namespace reprise {

// Note: first fit. Of best fit, first fit and their two-ended variants, the lowest address that fits kept the extent
// closest to the live peak on traces of convolutional steps (activations allocated forward and freed in reverse,
// workspaces between, with and without replay): it packs what lives long at the bottom and leaves the top to merge.
// Free runs are in a tree by address in which every node knows the largest run below it, so the first that fits is
// found on one path. A run that grows or shrinks stays between its neighbours, so most calls only refresh that path.
// The tree is a treap whose priorities are a hash of the record's number: balanced in expectation, the same every run.

namespace {
constexpr std::int64_t kGranule = 64;
}

void Placement::reserve_one() {
  // A placement adds at most three records: free bytes up to the block, the block, and what is left behind it.
  std::size_t spare = 0;
  for (Index n = spare_; n != kNone && spare < 3; n = nodes_[n].after) ++spare;
  if (spare < 3 && nodes_.capacity() - nodes_.size() < 3) nodes_.reserve(nodes_.size() * 2 + 64);
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

/// Takes a run out of the address order and makes its record a spare. It must not be in the tree.
void Placement::drop_run(Index n) {
  Index lower = nodes_[n].before, upper = nodes_[n].after;
  if (lower != kNone) nodes_[lower].after = upper;
  if (upper != kNone) nodes_[upper].before = lower;
  if (last_ == n) last_ = lower;
  nodes_[n].state = State::spare;
  nodes_[n].after = spare_;
  spare_ = n;
}

/// Puts a new run before `next` in address order; at the end where that is none.
void Placement::link_before(Index n, Index next) {
  Index lower = next == kNone ? last_ : nodes_[next].before;
  nodes_[n].before = lower;
  nodes_[n].after = next;
  if (lower != kNone) nodes_[lower].after = n;
  if (next == kNone)
    last_ = n;
  else
    nodes_[next].before = n;
}

// The tree of free runs.

/// Computes `largest` again from `n` upward, as far as it changes.
void Placement::refresh_from(Index n) {
  for (; n != kNone; n = nodes_[n].up) {
    Node& node = nodes_[n];
    std::int64_t largest = std::max({node.size, largest_of(node.left), largest_of(node.right)});
    if (largest == node.largest) return;
    node.largest = largest;
  }
}

void Placement::replace_child(Index parent, Index old_child, Index new_child) {
  if (parent == kNone)
    root_ = new_child;
  else if (nodes_[parent].left == old_child)
    nodes_[parent].left = new_child;
  else
    nodes_[parent].right = new_child;
  if (new_child != kNone) nodes_[new_child].up = parent;
}

/// Exchanges `n` with its parent, which becomes its child.
void Placement::rotate_up(Index n) {
  Index parent = nodes_[n].up;
  bool was_left = nodes_[parent].left == n;
  Index inner = was_left ? nodes_[n].right : nodes_[n].left;
  replace_child(nodes_[parent].up, parent, n);
  (was_left ? nodes_[parent].left : nodes_[parent].right) = inner;
  if (inner != kNone) nodes_[inner].up = parent;
  (was_left ? nodes_[n].right : nodes_[n].left) = parent;
  nodes_[parent].up = n;
  nodes_[n].largest = nodes_[parent].largest;
  nodes_[parent].largest =
      std::max({nodes_[parent].size, largest_of(nodes_[parent].left), largest_of(nodes_[parent].right)});
}

void Placement::make_free(Index n) {
  Node& node = nodes_[n];
  node.state = State::free;
  node.left = node.right = kNone;
  node.largest = node.size;
  Index parent = kNone;
  for (Index at = root_; at != kNone;) {
    parent = at;
    nodes_[at].largest = std::max(nodes_[at].largest, node.size);
    at = node.offset < nodes_[at].offset ? nodes_[at].left : nodes_[at].right;
  }
  node.up = parent;
  if (parent == kNone)
    root_ = n;
  else if (node.offset < nodes_[parent].offset)
    nodes_[parent].left = n;
  else
    nodes_[parent].right = n;
  while (node.up != kNone && priority(node.up) < priority(n)) rotate_up(n);
  ++free_count_;
}

void Placement::make_used(Index n) {
  while (nodes_[n].left != kNone && nodes_[n].right != kNone) {
    Index left = nodes_[n].left, right = nodes_[n].right;
    rotate_up(priority(left) > priority(right) ? left : right);
  }
  Index parent = nodes_[n].up;
  replace_child(parent, n, nodes_[n].left != kNone ? nodes_[n].left : nodes_[n].right);
  refresh_from(parent);
  nodes_[n].state = State::used;
  --free_count_;
}

Placement::Index Placement::first_fit(std::int64_t size) const {
  if (largest_of(root_) < size) return kNone;
  for (Index n = root_;;) {
    const Node& node = nodes_[n];
    if (largest_of(node.left) >= size)
      n = node.left;
    else if (node.size >= size)
      return n;
    else
      n = node.right;
  }
}

// Places and frees.

/// A used run of `size` bytes at the end of the range, over the free run that may lie there.
Placement::Index Placement::grow(std::int64_t size) {
  bool over_tail = last_ != kNone && nodes_[last_].state == State::free;
  std::int64_t start = over_tail ? nodes_[last_].offset : extent_;
  if (size > capacity_ - start) return kNone;
  Index n = last_;
  if (over_tail) {
    make_used(n);
  } else {
    n = new_node();
    nodes_[n].offset = start;
    nodes_[n].state = State::used;
    link_before(n, kNone);
  }
  nodes_[n].size = size;
  extent_ = start + size;
  return n;
}

/// A used run of `size` bytes from the low end of free run `n`.
Placement::Index Placement::cut_low(Index n, std::int64_t size) {
  if (nodes_[n].size == size) {
    make_used(n);
    return n;
  }
  Index used = new_node();
  nodes_[used].offset = nodes_[n].offset;
  nodes_[used].size = size;
  nodes_[used].state = State::used;
  link_before(used, n);
  nodes_[n].offset += size;
  nodes_[n].size -= size;
  refresh_from(n);
  return used;
}

std::int64_t Placement::place(std::int64_t size, const BlockInfo& info) noexcept {
  Index n = first_fit(size);
  n = n == kNone ? grow(size) : cut_low(n, size);
  if (n == kNone) return -1;
  nodes_[n].info = info;
  index_used(n);
  return nodes_[n].offset;
}

/// The free run that holds the byte at `offset`, or none.
Placement::Index Placement::free_run_at(std::int64_t offset) const {
  Index found = kNone;
  for (Index n = root_; n != kNone;) {
    bool right = nodes_[n].offset <= offset;
    if (right) found = n;
    n = right ? nodes_[n].right : nodes_[n].left;
  }
  return found != kNone && offset < nodes_[found].offset + nodes_[found].size ? found : kNone;
}

/// A run in the address order before `next`, in no tree yet.
Placement::Index Placement::new_run(std::int64_t offset, std::int64_t size, Index next) {
  Index n = new_node();
  nodes_[n].offset = offset;
  nodes_[n].size = size;
  nodes_[n].state = State::used;
  link_before(n, next);
  return n;
}

/// Free bytes from the extent to `end`, which becomes the extent.
void Placement::extend_to(std::int64_t end) {
  if (last_ != kNone && nodes_[last_].state == State::free) {
    nodes_[last_].size = end - nodes_[last_].offset;
    refresh_from(last_);
  } else {
    make_free(new_run(extent_, end - extent_, kNone));
  }
  extent_ = end;
}

std::int64_t Placement::place_at(std::int64_t offset, std::int64_t size, const BlockInfo& info) noexcept {
  if (offset < 0 || size > capacity_ - offset) return -1;
  std::int64_t end = offset + size;
  if (offset < extent_) {
    Index at = free_run_at(offset);
    if (at == kNone) return -1;
    bool reaches_extent = nodes_[at].offset + nodes_[at].size == extent_;
    if (end > nodes_[at].offset + nodes_[at].size && !(reaches_extent && end > extent_)) return -1;
  }
  if (end > extent_) extend_to(end);
  Index n = free_run_at(offset);
  std::int64_t below = offset - nodes_[n].offset, above = nodes_[n].offset + nodes_[n].size - end;
  if (below > 0) {
    Index next = nodes_[n].after;
    nodes_[n].size = below;
    refresh_from(n);
    n = new_run(offset, size, next);
    if (above > 0) make_free(new_run(end, above, next));
  } else {
    n = cut_low(n, size);
  }
  nodes_[n].info = info;
  index_used(n);
  return offset;
}

std::int64_t Placement::used_end() const {
  if (last_ == kNone) return 0;
  return nodes_[last_].state == State::free ? nodes_[last_].offset : extent_;
}

BlockInfo Placement::free(std::int64_t offset) noexcept {
  std::size_t slot = slot_of(offset);
  Index n = table_[slot];
  unindex_used(slot);
  BlockInfo info = nodes_[n].info;
  std::int64_t size = nodes_[n].size;
  Index lower = nodes_[n].before, upper = nodes_[n].after;
  bool join_lower = lower != kNone && nodes_[lower].state == State::free;
  bool join_upper = upper != kNone && nodes_[upper].state == State::free;
  if (join_lower && join_upper) {
    make_used(upper);  // out of the tree
    size += nodes_[upper].size;
    drop_run(upper);
  }
  if (join_lower) {
    nodes_[lower].size += size;
    drop_run(n);
    refresh_from(lower);
  } else if (join_upper) {
    nodes_[upper].offset = offset;
    nodes_[upper].size += size;
    drop_run(n);
    refresh_from(upper);
  } else {
    make_free(n);
  }
  return info;
}

void Placement::shrink_to(std::int64_t extent) noexcept {
  if (extent >= extent_) return;
  Index n = last_;
  std::int64_t left = extent - nodes_[n].offset;
  extent_ = extent;
  if (left > 0) {
    nodes_[n].size = left;
    refresh_from(n);
  } else {
    make_used(n);
    drop_run(n);
  }
}

// The table from offsets to used blocks.

/// Fibonacci hashing: the high bits of the product with 2^64 over the golden ratio part what neighbours have in common.
std::size_t Placement::home_of(std::int64_t offset) const {
  return static_cast<std::size_t>((static_cast<std::uint64_t>(offset / kGranule) * 0x9E3779B97F4A7C15u) >>
                                  table_shift_);
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
