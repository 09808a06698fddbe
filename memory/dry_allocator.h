// An allocator without bytes: it meters like the arena and hands out addresses that are null, for dry traces of whole
// steps. The same requests meet the same budget and leave the same live and peak bytes as on the arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/allocator.h"
#include "memory/meter.h"
#include "memory/placement_plan.h"

namespace reprise {

class DryAllocator final : public Allocator {
 public:
  /// Speaks for `device`. The meter must outlive the allocator.
  explicit DryAllocator(Meter& meter, Device device = {}) : meter_(meter), device_(device) {}

  Device device() const override { return device_; }
  Allocation allocate(std::int64_t bytes, Category category) override;
  void release(const Allocation& allocation, Category category) noexcept override;

  /// Takes down the lives of the blocks from now on, until lives() is called.
  void record_lives();
  /// The blocks asked for since record_lives(), in that order.
  std::vector<BlockLife> lives();

  /// The `count` largest live blocks, largest first; sizes are as charged, and names are not known.
  std::vector<LiveBlock> largest_live(std::size_t count) const;

 private:
  Meter& meter_;
  Device device_;
  // How many blocks are live of each charged size and category, largest size first.
  std::map<std::pair<std::int64_t, Category>, std::int64_t, std::greater<>> live_;
  bool recording_ = false;
  std::int64_t serial_ = 0;        // of the last block
  std::int64_t first_serial_ = 0;  // the last one before lives_ begins
  std::int64_t moment_ = 0;
  std::vector<BlockLife> lives_;
};

}  // namespace reprise
