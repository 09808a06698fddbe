#include "memory/arena.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "core/error.h"
#include "memory/machine_memory.h"

namespace reprise {

namespace {

constexpr std::int64_t kStep = 2 << 20;  // a huge page
constexpr std::int64_t kLeastRange = 16 << 20;
constexpr std::int64_t kMostRange = std::int64_t{1} << 44;
constexpr std::int64_t kSmallShare = 16;  // the range for small blocks is this part of the range for large ones

std::int64_t round_up_step(std::int64_t bytes) { return (bytes + kStep - 1) / kStep * kStep; }

void* map_addresses(std::int64_t bytes) {
  void* at =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

Arena::Range::Range(std::int64_t wanted) {
  // One step more lets the base sit on a huge page; one more at the end is never memory, so running over it faults.
  std::int64_t capacity = std::clamp(round_up_step(std::min(wanted, kMostRange)), kLeastRange, kMostRange);
  mapping = map_addresses(capacity + 2 * kStep);
  if (!mapping) {
    // The system limits addresses (ulimit -v). Find what it grants, then leave a quarter for everything else.
    while (!mapping && capacity > kLeastRange) {
      capacity = std::max(kLeastRange, round_up_step(capacity / 8 * 7 - kStep));
      mapping = map_addresses(capacity + 2 * kStep);
    }
    if (mapping && capacity > kLeastRange) {
      munmap(mapping, static_cast<std::size_t>(capacity + 2 * kStep));
      capacity = std::max(kLeastRange, round_up_step(capacity / 4 * 3));
      mapping = map_addresses(capacity + 2 * kStep);
    }
  }
  if (!mapping) {
    fail(ErrorKind::memory, "[arena] expected {} bytes of addresses, got none. Raise the limit of ulimit -v", capacity);
  }
  mapping_bytes = static_cast<std::size_t>(capacity + 2 * kStep);
  auto address = reinterpret_cast<std::int64_t>(mapping);
  base = static_cast<std::byte*>(mapping) + (round_up_step(address) - address);
  placement = Placement(capacity);
  madvise(base, static_cast<std::size_t>(capacity), MADV_HUGEPAGE);  // advice: it may be refused
}

Arena::Range::~Range() {
  ASAN_UNPOISON_MEMORY_REGION(base, static_cast<std::size_t>(committed));
  munmap(mapping, mapping_bytes);
}

Arena::Arena(Meter& meter, std::int64_t machine_limit)
    : meter_(meter),
      limit_(machine_limit > 0 ? machine_limit : machine_memory_bytes()),
      large_(limit_),
      small_(large_.placement.capacity() / kSmallShare) {}

Arena::~Arena() = default;

Allocation Arena::allocate(std::int64_t bytes, Category category) {
  REPRISE_INVARIANT(bytes >= 0);
  if (bytes == 0) return {small_.base + small_.placement.capacity(), 0};
  if (bytes > kMostRange) refuse(bytes, category, fmt::format("at most {} bytes at once", kMostRange));
  std::int64_t charged = round_up_64(bytes);
  if (!meter_.fits(charged)) refuse(bytes, category, meter_.budget_text());
  BlockInfo info{bytes, category, nullptr, meter_.current_op()};
  std::byte* data = nullptr;
  std::int64_t planned = plan_ ? planned_offset(charged) : -1;
  if (planned >= 0) data = place(large_, charged, info, planned);
  if (!data && charged <= kSmallBytes) data = place(small_, charged, info);
  if (!data) data = place(large_, charged, info);
  if (!data) {
    std::int64_t most = std::min(limit_, large_.placement.capacity());
    refuse(bytes, category, fmt::format("a machine that gives this process at most {} bytes", most));
  }
  meter_.add(category, charged);
  ASAN_UNPOISON_MEMORY_REGION(data, static_cast<std::size_t>(bytes));
  if (fill_) std::memset(data, 0xff, static_cast<std::size_t>(bytes));
  return {data, charged};
}

void Arena::follow(const PlacementPlan* plan) {
  plan_ = plan && !plan->blocks.empty() ? plan : nullptr;
  next_planned_ = 0;
  if (plan_) plan_base_ = large_.placement.used_end();
}

/// Where the next block of the plan goes; -1 where that is not said. Ends the plan after its last block, or when the
/// request is another.
std::int64_t Arena::planned_offset(std::int64_t charged) {
  const PlacementPlan::Block& block = plan_->blocks[next_planned_++];
  bool foreseen = block.charged == charged;
  if (!foreseen || next_planned_ == plan_->blocks.size()) plan_ = nullptr;
  return foreseen && block.offset >= 0 ? plan_base_ + block.offset : -1;
}

/// At `wanted` where that is free; without a wish at the lowest address that fits. Null: no room.
std::byte* Arena::place(Range& range, std::int64_t charged, const BlockInfo& info, std::int64_t wanted) {
  try {
    range.placement.reserve_one();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  std::int64_t extent = range.placement.extent();
  std::int64_t offset =
      wanted < 0 ? range.placement.place(charged, info) : range.placement.place_at(wanted, charged, info);
  if (offset < 0) return nullptr;
  if (range.placement.extent() > range.committed && !commit(range)) {
    range.placement.free(offset);
    range.placement.shrink_to(extent);
    return nullptr;
  }
  return range.base + offset;
}

/// Makes memory of the addresses up to the extent of `range`; false when the machine has none.
bool Arena::commit(Range& range) {
  if (extent_bytes() > limit_) return false;
  std::int64_t more = round_up_step(range.placement.extent() - range.committed);
  std::byte* from = range.base + range.committed;
  if (mprotect(from, static_cast<std::size_t>(more), PROT_READ | PROT_WRITE) != 0) return false;
  ASAN_POISON_MEMORY_REGION(from, static_cast<std::size_t>(more));
  range.committed += more;
  return true;
}

void Arena::release(const Allocation& allocation, Category category) noexcept {
  if (allocation.charged == 0) return;
  Range& range = small_.holds(allocation.data) ? small_ : large_;
  assert(range.holds(allocation.data) && range.placement.find(allocation.data - range.base));
  BlockInfo info = range.placement.free(allocation.data - range.base);
  if (fill_) std::memset(allocation.data, 0xff, static_cast<std::size_t>(info.bytes));
  ASAN_POISON_MEMORY_REGION(allocation.data, static_cast<std::size_t>(allocation.charged));
  meter_.remove(category, allocation.charged);
}

void Arena::set_name(const Allocation& allocation, const char* name) noexcept {
  if (allocation.charged == 0) return;
  Range& range = small_.holds(allocation.data) ? small_ : large_;
  if (BlockInfo* info = range.placement.find(allocation.data - range.base)) info->name = name;
}

std::vector<LiveBlock> Arena::largest_live(std::size_t count) const {
  struct Found {
    LiveBlock block;
    const std::byte* data;
  };
  std::vector<Found> all;
  for_each_live([&](const std::byte* data, const BlockInfo& info) {
    all.push_back({{info.bytes, info.category, info.name, info.op}, data});
  });
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return a.block.bytes != b.block.bytes ? a.block.bytes > b.block.bytes : a.data < b.data;
  });
  std::vector<LiveBlock> largest;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) largest.push_back(all[i].block);
  return largest;
}

void Arena::refuse(std::int64_t bytes, Category category, const std::string& limit) const {
  meter_.fail_no_room(bytes, category, limit, largest_live(kNamedBlocks));
}

}  // namespace reprise
