#include "models/train/budget.h"

#include <algorithm>
#include <numeric>

namespace reprise {
namespace {

constexpr std::size_t kCategoriesNamed = 3;

/// "activations 4096, parameters 640, data 128": the largest ones in bytes.
std::string describe_largest(const CategoryBytes& bytes) {
  std::array<std::size_t, kCategoryCount> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  std::string text;
  for (std::size_t i = 0; i < kCategoriesNamed && bytes[order[i]] > 0; ++i) {
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", to_string(static_cast<Category>(order[i])), bytes[order[i]]);
  }
  return text;
}

std::string hint(const Config& config) {
  bool replays =
      config.get_string("recompute.method") != "retain" && config.get_list("recompute.segments") != Words{"none"};
  return replays ? "take a smaller train.batch, or raise the budget"
                 : "take recompute.method=region with recompute.segments=blocks, a smaller train.batch, or raise the "
                   "budget";
}

}  // namespace

void check_budget(const Config& config, StepPlanner& planner) {
  Bytes budget = config.get_bytes("memory.budget");
  if (!budget) return;
  const Schedule& schedule = planner.first();
  if (!schedule.exact) return;
  const CategoryBytes& at_peak = schedule.peak.at_peak;
  std::int64_t peak = schedule.peak.total_peak;
  if (peak <= *budget) return;
  throw config.error_at("memory.budget",
                        "too small for this run: expected at least {} bytes, the peak of the first step, got {} bytes. "
                        "largest at the peak: {}. {}",
                        peak, *budget, describe_largest(at_peak), hint(config));
}

}  // namespace reprise
