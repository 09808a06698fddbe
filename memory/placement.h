// Where blocks go in one range of addresses: the lowest address that fits, or one that is asked for; freed neighbours
// are merged.
//
// Pure bookkeeping on offsets; it never touches the memory it manages. The arena has two of these, for small and for
// large blocks. The same sequence of calls gives the same offsets. Allocate and free cost O(log n), and no heap
// allocation once the tables have grown to their working size.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/meter.h"

namespace reprise {

/// What is known about a block in use.
struct BlockInfo {
  std::int64_t bytes = 0;  // as requested
  Category category = Category::activations;
  const char* name = nullptr;
  const char* op = nullptr;
};

class Placement {
 public:
  /// Offsets lie in [0, capacity); capacity is a multiple of 64.
  explicit Placement(std::int64_t capacity) : capacity_(capacity) {}

  /// Grows the tables so that the next place() cannot fail for want of them. May throw std::bad_alloc.
  void reserve_one();
  /// The offset for `size` bytes (a positive multiple of 64), or -1 when the range has no room. Call reserve_one()
  /// before. The extent may grow.
  std::int64_t place(std::int64_t size, const BlockInfo& info) noexcept;
  /// The same at a given offset, a multiple of 64; -1 when bytes there are in use or beyond the range.
  std::int64_t place_at(std::int64_t offset, std::int64_t size, const BlockInfo& info) noexcept;
  /// Frees the block at `offset` and returns what was known about it. The offset must be one that place() gave.
  BlockInfo free(std::int64_t offset) noexcept;
  /// The record of the block in use at `offset`; null when there is none.
  BlockInfo* find(std::int64_t offset) noexcept;

  /// One past the highest byte in use.
  std::int64_t used_end() const;
  /// One past the highest byte ever given out.
  std::int64_t extent() const { return extent_; }
  /// Takes back growth beyond `extent`: the bytes above it must be free.
  void shrink_to(std::int64_t extent) noexcept;
  std::int64_t capacity() const { return capacity_; }
  std::int64_t free_block_count() const { return free_count_; }

  /// Calls visit(offset, info) for each block in use, in no promised order.
  template <class Visit>
  void for_each_used(Visit&& visit) const {
    for (const Node& node : nodes_) {
      if (node.state == State::used) visit(node.offset, node.info);
    }
  }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffffffffu;
  enum class State : std::uint8_t { spare, used, free };

  // A run of bytes, used or free. Runs lie end to end in address order along `before` and `after`. A free one is in
  // the tree; a spare record is in the list of spares along `after`.
  struct Node {
    std::int64_t offset = 0, size = 0;
    std::int64_t largest = 0;  // of the free runs in the tree below and including this one
    Index before = kNone, after = kNone;
    Index left = kNone, right = kNone, up = kNone;
    State state = State::spare;
    BlockInfo info;
  };

  /// Two rounds of multiply and shift: records made one after the other get unlike priorities.
  static std::uint32_t priority(Index n) {
    std::uint32_t h = (n ^ (n >> 16)) * 0x9E3779B1u;
    return (h ^ (h >> 15)) * 0x85EBCA77u;
  }
  Index new_node();
  void drop_run(Index n);
  void link_before(Index n, Index next);
  void make_free(Index n);
  void make_used(Index n);
  Index first_fit(std::int64_t size) const;
  Index grow(std::int64_t size);
  Index cut_low(Index n, std::int64_t size);
  Index free_run_at(std::int64_t offset) const;
  Index new_run(std::int64_t offset, std::int64_t size, Index next);
  void extend_to(std::int64_t end);

  std::int64_t largest_of(Index n) const { return n == kNone ? 0 : nodes_[n].largest; }
  void refresh_from(Index n);
  void replace_child(Index parent, Index old_child, Index new_child);
  void rotate_up(Index n);

  std::size_t home_of(std::int64_t offset) const;
  std::size_t slot_of(std::int64_t offset) const;
  void index_used(Index n);
  void unindex_used(std::size_t slot);

  std::int64_t capacity_ = 0, extent_ = 0;
  std::vector<Node> nodes_;
  Index spare_ = kNone;
  Index last_ = kNone;  // the run with the highest address
  Index root_ = kNone;  // of the tree of free runs
  std::int64_t free_count_ = 0;
  // Hash table from the offset of a used block to its node: linear probing, at most half full.
  std::vector<Index> table_;
  std::size_t used_count_ = 0;
  int table_shift_ = 64;
};

}  // namespace reprise
