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

template <class Range>
bool make_memory(Range& range, std::int64_t end) {
  std::byte* from = range.base + range.committed;
  auto more = static_cast<std::size_t>(end - range.committed);
  if (mprotect(from, more, PROT_READ | PROT_WRITE) != 0) return false;
  ASAN_POISON_MEMORY_REGION(from, more);
  range.committed = end;
  return true;
}

/// Memory up to `end`, where all that a step needs is known to end: whole steps of it as huge pages, what is left over
/// as ordinary ones, so that the last of them costs no more than it holds. Where it is refused, a request will say so.
template <class Range>
void make_exactly(Range& range, std::int64_t end) {
  constexpr std::int64_t kPages = 64 * 1024;
  end = (end + kPages - 1) / kPages * kPages;
  std::int64_t whole = end / kStep * kStep;
  if (end <= range.committed) return;
  if (range.committed <= whole) madvise(range.base + whole, static_cast<std::size_t>(kStep), MADV_NOHUGEPAGE);
  make_memory(range, end);
}

/// One past the highest byte of a plan, from where it begins.
std::int64_t end_of(const PlacementPlan& plan) {
  std::int64_t end = 0;
  for (const PlacementPlan::Block& block : plan.blocks) {
    if (block.offset >= 0) end = std::max(end, block.offset + block.charged);
  }
  return end;
}

void* map_addresses(std::int64_t bytes) {
  void* at =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

Arena::Range::Range(std::int64_t wanted, std::int64_t ordinary) {
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
  // Advice: it may be refused.
  if (ordinary > 0) madvise(base, static_cast<std::size_t>(ordinary), MADV_NOHUGEPAGE);
  madvise(base + ordinary, static_cast<std::size_t>(capacity - ordinary), MADV_HUGEPAGE);
}

Arena::Range::~Range() {
  ASAN_UNPOISON_MEMORY_REGION(base, static_cast<std::size_t>(committed));
  munmap(mapping, mapping_bytes);
}

Arena::Arena(Meter& meter, std::int64_t machine_limit)
    : meter_(meter),
      limit_(machine_limit > 0 ? machine_limit : machine_memory_bytes()),
      large_(limit_),
      small_(large_.placement.capacity() / kSmallShare, kStep) {}  // most runs use a tenth of its first step

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
  if (!plan_) return;
  plan_base_ = large_.placement.used_end();
  std::int64_t end = plan_base_ + end_of(*plan_);
  if (end <= std::min(limit_, large_.placement.capacity())) make_exactly(large_, end);
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
  return extent_bytes() <= limit_ && make_memory(range, round_up_step(range.placement.extent()));
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
