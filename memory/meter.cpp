#include "memory/meter.h"

#include <algorithm>
#include <new>
#include <numeric>

#include "core/error.h"

namespace reprise {

void Meter::reset_peak() {
  snapshot_.peak = snapshot_.live;
  snapshot_.at_peak = snapshot_.live;
  snapshot_.total_peak = snapshot_.total_live;
}

Trail Meter::trail_since(const Trail& start) const {
  Trail since{snapshot_.events - start.events, 0};
  std::uint64_t power = 1, factor = kTrailBase;
  for (std::uint64_t left = since.events; left > 0; left >>= 1, factor *= factor) {
    if (left & 1) power *= factor;
  }
  since.hash = trail_ - start.hash * power;
  return since;
}

void Meter::record(Category category, std::int64_t delta) noexcept {
  try {
    timeline_.push_back({snapshot_.events - 1, op_, category, delta, snapshot_.total_live});
  } catch (const std::bad_alloc&) {
    recording_ = false;  // the counts stay right; a timeline that cannot grow ends here
  }
}

std::string Meter::describe_live() const {
  std::array<std::size_t, kCategoryCount> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [this](std::size_t a, std::size_t b) { return snapshot_.live[a] > snapshot_.live[b]; });
  std::string text;
  for (std::size_t c : order) {
    if (snapshot_.live[c] == 0) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<Category>(c)), snapshot_.live[c]);
  }
  return text.empty() ? "nothing" : text;
}

void Meter::fail_no_room(std::int64_t bytes, Category category, const std::string& limit,
                         std::span<const LiveBlock> largest) const {
  std::string blocks;
  for (const LiveBlock& block : largest) {
    blocks += fmt::format("\n  {} bytes {}", block.bytes, to_string(block.category));
    if (block.name && *block.name) blocks += fmt::format(" '{}'", block.name);
    if (block.op) blocks += fmt::format(", made by {}", block.op);
  }
  if (!blocks.empty()) blocks = "\nlargest live tensors:" + blocks;
  fail(ErrorKind::memory,
       "[{}] expected room for {} bytes of {}, got {} with {} bytes live ({}). Use a smaller batch, another "
       "recompute.method, or raise memory.budget.{}",
       op_ ? op_ : "allocate", bytes, to_string(category), limit, snapshot_.total_live, describe_live(), blocks);
}

}  // namespace reprise
