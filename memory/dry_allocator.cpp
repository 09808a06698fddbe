#include "memory/dry_allocator.h"

#include <limits>

#include "core/error.h"

namespace reprise {

namespace {
constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max() / 4;
}  // namespace

Allocation DryAllocator::allocate(std::int64_t bytes, Category category) {
  REPRISE_INVARIANT(bytes >= 0);
  if (bytes == 0) return {};
  if (bytes > kMostBytes || !meter_.fits(round_up_64(bytes))) {
    meter_.fail_no_room(bytes, category, fmt::format("a budget of {} bytes", meter_.budget()),
                        largest_live(kNamedBlocks));
  }
  std::int64_t charged = round_up_64(bytes);
  ++live_[{charged, category}];
  meter_.add(category, charged);
  return {nullptr, charged};
}

void DryAllocator::release(const Allocation& allocation, Category category) noexcept {
  if (allocation.charged == 0) return;
  auto found = live_.find({allocation.charged, category});
  if (found != live_.end() && --found->second == 0) live_.erase(found);
  meter_.remove(category, allocation.charged);
}

std::vector<LiveBlock> DryAllocator::largest_live(std::size_t count) const {
  std::vector<LiveBlock> largest;
  for (const auto& [key, copies] : live_) {
    for (std::int64_t i = 0; i < copies && largest.size() < count; ++i) largest.push_back({key.first, key.second});
  }
  return largest;
}

}  // namespace reprise
