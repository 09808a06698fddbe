#include "memory/dry_allocator.h"

#include <limits>

#include "core/error.h"

namespace reprise {

namespace {
/// A larger block could overflow the sums when it is rounded up and added to what is live.
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
  ++serial_;
  if (recording_) lives_.push_back({charged, moment_++});
  return {nullptr, charged, serial_};
}

void DryAllocator::release(const Allocation& allocation, Category category) noexcept {
  if (allocation.charged == 0) return;
  auto found = live_.find({allocation.charged, category});
  if (found != live_.end() && --found->second == 0) live_.erase(found);
  meter_.remove(category, allocation.charged);
  if (recording_ && allocation.serial > first_serial_)
    lives_[static_cast<std::size_t>(allocation.serial - first_serial_ - 1)].end = moment_++;
}

void DryAllocator::record_lives() {
  lives_.clear();
  first_serial_ = serial_;
  moment_ = 0;
  recording_ = true;
}

std::vector<BlockLife> DryAllocator::lives() {
  recording_ = false;
  return std::move(lives_);
}

std::vector<LiveBlock> DryAllocator::largest_live(std::size_t count) const {
  std::vector<LiveBlock> largest;
  for (const auto& [key, copies] : live_) {
    for (std::int64_t i = 0; i < copies && largest.size() < count; ++i) largest.push_back({key.first, key.second});
  }
  return largest;
}

}  // namespace reprise
