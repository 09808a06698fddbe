#include "memory/meter.h"

#include <algorithm>
#include <new>
#include <numeric>

#include "core/error.h"

namespace reprise {

namespace {
constexpr const char* kBudgetOf = "a budget of ";
}  // namespace

std::string Meter::budget_text() const { return fmt::format("{}{} bytes", kBudgetOf, budget_); }

bool is_over_budget(const Error& error) {
  return error.kind() == ErrorKind::memory && error.message().find(kBudgetOf) != std::string::npos;
}

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

std::string describe_bytes(const CategoryBytes& bytes, std::size_t most) {
  std::array<std::size_t, kCategoryCount> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  std::string text;
  for (std::size_t i = 0; i < std::min(most, order.size()) && bytes[order[i]] > 0; ++i) {
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", to_string(static_cast<Category>(order[i])), bytes[order[i]]);
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
