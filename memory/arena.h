// Arena: the caching allocator of the CPU. It takes large ranges of addresses once, makes memory of them as it is
// needed (in steps of 2 MiB, or as far as a planned step goes), and never gives any back while it lives, so that a
// warmed-up step causes no page fault.
//
// Blocks are 64-byte aligned, rounded up to 64 bytes and placed at the lowest address that fits (memory/placement.h);
// small ones live in a range of their own, where they cannot pin holes between large ones. The same sequence of calls
// gives the same offsets. Not thread-safe by contract: storages belong to the step's thread. Under AddressSanitizer
// bytes that are not in use are poisoned. Every block must be released before the arena is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/allocator.h"
#include "memory/meter.h"
#include "memory/placement.h"
#include "memory/placement_plan.h"

namespace reprise {

class Arena final : public Allocator {
 public:
  /// Blocks up to this size go to the range of small blocks.
  static constexpr std::int64_t kSmallBytes = 16 * 1024;

  /// `machine_limit`: bytes this arena may hold at most; 0 asks the machine. The meter must outlive the arena.
  /// Errors (memory) when the system refuses even a small range of addresses.
  explicit Arena(Meter& meter, std::int64_t machine_limit = 0);
  ~Arena() override;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Device device() const override { return {}; }
  /// Zero bytes are a valid request: the address is not null and must not be touched. Errors (memory) when the
  /// meter's budget or the machine has no room; nothing has changed then.
  Allocation allocate(std::int64_t bytes, Category category) override;
  void release(const Allocation& allocation, Category category) noexcept override;
  void set_name(const Allocation& allocation, const char* name) noexcept override;

  /// The requests to come are those of a step that was laid out: each goes to its place there, above all blocks that
  /// are live now, as long as requests are of the sizes foreseen and their places are free; then, and after the last,
  /// as without a plan. Null: no plan. The plan must live until then or until the next call.
  void follow(const PlacementPlan* plan);
  /// `plan` may go: as without one, where it is the plan that is followed.
  void forget(const PlacementPlan* plan) {
    if (plan_ == plan) plan_ = nullptr;
  }

  /// Guard mode: new and freed blocks are filled with 0xff, which reads as NaN and as an index out of range.
  void poison_freed(bool on) { fill_ = on; }

  /// Bytes between the lowest and the highest ever given out, both ranges together: what the arena costs the machine.
  std::int64_t extent_bytes() const { return small_.placement.extent() + large_.placement.extent(); }
  /// The `count` largest live blocks, largest first.
  std::vector<LiveBlock> largest_live(std::size_t count) const;
  /// Calls visit(data, info) for each live block, in no promised order.
  template <class Visit>
  void for_each_live(Visit&& visit) const {
    for (const Range* range : {&small_, &large_}) {
      range->placement.for_each_used(
          [&](std::int64_t offset, const BlockInfo& info) { visit(range->base + offset, info); });
    }
  }
  /// Maximal free runs below the extents; for tests and for measuring fragmentation.
  std::int64_t free_run_count() const {
    return small_.placement.free_block_count() + large_.placement.free_block_count();
  }

 private:
  /// Addresses [base, base + capacity), of which the first `committed` bytes are memory.
  struct Range {
    /// The first `ordinary` bytes (whole steps) are not to be huge pages.
    explicit Range(std::int64_t wanted, std::int64_t ordinary = 0);
    ~Range();
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;
    bool holds(const std::byte* data) const { return data >= base && data < base + placement.capacity(); }

    void* mapping = nullptr;
    std::size_t mapping_bytes = 0;
    std::byte* base = nullptr;
    std::int64_t committed = 0;
    Placement placement{0};
  };

  std::byte* place(Range& range, std::int64_t charged, const BlockInfo& info, std::int64_t wanted = -1);
  std::int64_t planned_offset(std::int64_t charged);
  bool commit(Range& range);
  [[noreturn]] void refuse(std::int64_t bytes, Category category, const std::string& limit) const;

  Meter& meter_;
  std::int64_t limit_;
  bool fill_ = false;
  Range large_, small_;
  const PlacementPlan* plan_ = nullptr;
  std::size_t next_planned_ = 0;
  std::int64_t plan_base_ = 0;
};

}  // namespace reprise
