#include "tools/frontier/frontier.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/text.h"
#include "data/atomic_file.h"
#include "models/train/measure_profile.h"
#include "tools/frontier/measured_order.h"

namespace reprise {

Frontier make_frontier(RunPlanner& planner, int budgets) {
  Frontier frontier;
  std::int64_t low = INT64_MAX, high = 0;
  for (const std::string& method : plannable_methods()) {
    Plan least = planner.least(method);
    frontier.granularity = least.granularity;
    frontier.smallest.emplace_back(method, least.predicted_peak);
    low = std::min(low, least.predicted_peak);
    Planner::Answer free = planner.plan(method, 0);
    if (free.plan) high = std::max(high, free.plan->predicted_peak);
  }
  frontier.reference = planner.least("joint");
  std::set<std::int64_t> levels;
  for (int i = 0; i <= budgets; ++i) levels.insert(low + (high - low) * i / budgets);
  frontier.levels.assign(levels.begin(), levels.end());
  for (const auto& [method, smallest] : frontier.smallest) {
    std::set<std::int64_t> own = levels;
    own.insert(smallest);
    fmt::print(stderr, "planning {}, {} at {} budgets\n", method, frontier.granularity, own.size());
    for (std::int64_t budget : own) {
      if (budget < smallest) continue;
      if (stop_requested()) throw Interrupted{"planning; nothing was written"};
      Planner::Answer answer = planner.plan(method, budget);
      if (answer.plan) frontier.points.push_back({method, budget, std::move(*answer.plan), 0, 0, 0, 0});
    }
  }
  return frontier;
}

void measure_frontier(const Config& config, Frontier& frontier) {
  constexpr std::size_t kBudgets = 4;  // the same for all methods, from the smallest to no recomputation
  std::set<std::int64_t> budgets;
  const std::vector<std::int64_t>& levels = frontier.levels;
  for (std::size_t i = 0; i < kBudgets && !levels.empty(); ++i)
    budgets.insert(levels[i * (levels.size() - 1) / (kBudgets - 1)]);
  Config unlimited = config;  // plans of larger budgets run too
  unlimited.set("memory.budget", Bytes(), "reprise plan --frontier");
  auto reference = std::make_shared<const Plan>(frontier.reference);
  auto steps = static_cast<int>(config.get_int("recompute.profile_steps"));
  for (const auto& [method, smallest] : frontier.smallest) {
    for (FrontierPoint& point : frontier.points) {
      bool wanted = point.method == method && (budgets.contains(point.budget) || point.budget == smallest);
      if (!wanted || measured_like(frontier, point)) continue;
      fmt::print(stderr, "measuring {} at {}\n", method, short_bytes(point.budget));
      point.reference_ns = measure_steps(unlimited, reference, steps).step_ns;
      MeasuredSteps measured = measure_steps(unlimited, std::make_shared<const Plan>(point.plan), steps);
      point.measured_ns = measured.step_ns;
      point.spread = measured.spread;
      point.measured_peak = measured.peak_bytes;
    }
  }
}

double off_by(const FrontierPoint& point) {
  return static_cast<double>(point.measured_ns) / static_cast<double>(point.plan.predicted_ns) - 1;
}

double off_beside_reference(const Frontier& frontier, const FrontierPoint& point) {
  double speed = static_cast<double>(point.reference_ns) / static_cast<double>(frontier.reference.predicted_ns);
  return (off_by(point) + 1) / speed - 1;
}

std::string frontier_csv(const Frontier& frontier) {
  std::string text =
      "granularity,method,budget_bytes,predicted_peak_bytes,predicted_ms,lower_bound_ms,retained,replayed,"
      "measured_ms,measured_spread,measured_peak_bytes,reference_ms,off_by,off_beside_reference\n";
  for (const FrontierPoint& point : frontier.points) {
    auto replayed = std::count_if(point.plan.segments.begin(), point.plan.segments.end(),
                                  [](const PlannedSegment& s) { return s.replay; });
    text += fmt::format("{},{},{},{},{:.4f},{:.4f},{},{},", frontier.granularity, point.method, point.budget,
                        point.plan.predicted_peak, static_cast<double>(point.plan.predicted_ns) * 1e-6,
                        static_cast<double>(point.plan.lower_bound_ns) * 1e-6,
                        static_cast<std::int64_t>(point.plan.segments.size()) - replayed, replayed);
    if (point.measured_ns == 0) {
      text += ",,,,,\n";
      continue;
    }
    text += fmt::format("{:.4f},{:.4f},{},{:.4f},{:.4f},{:.4f}\n", static_cast<double>(point.measured_ns) * 1e-6,
                        point.spread, point.measured_peak, static_cast<double>(point.reference_ns) * 1e-6,
                        off_by(point), off_beside_reference(frontier, point));
  }
  return text;
}

namespace {

void write(const std::filesystem::path& folder, const std::string& name, const Config& config, const Frontier& frontier,
           const Frontier* coarse) {
  write_file_atomically(folder / (name + ".csv"), frontier_csv(frontier));
  write_file_atomically(folder / (name + ".svg"), frontier_svg(frontier, config.get_string("model.type"), coarse));
  fmt::print("{} and .svg: {} plans, granularity {}\n", (folder / (name + ".csv")).string(), frontier.points.size(),
             frontier.granularity);
}

void print_smallest(const Frontier& frontier) {
  std::vector<std::vector<std::string>> rows{{"method", "smallest feasible budget", ""}};
  for (const auto& [method, bytes] : frontier.smallest)
    rows.push_back({method, std::to_string(bytes), short_bytes(bytes)});
  std::fputs(format_table(rows, {false, true, true}).c_str(), stdout);
}

/// What was measured beside what was predicted; the peak is a promise, the time an estimate.
void print_measured(const Frontier& frontier) {
  std::vector<std::vector<std::string>> rows{
      {"method", "budget", "predicted ms", "measured ms", "spread", "off by", "beside", "peak"}};
  for (const FrontierPoint& point : frontier.points) {
    if (point.measured_ns == 0) continue;
    double predicted = static_cast<double>(point.plan.predicted_ns) * 1e-6,
           measured = static_cast<double>(point.measured_ns) * 1e-6;
    rows.push_back({point.method, short_bytes(point.budget), fmt::format("{:.2f}", predicted),
                    fmt::format("{:.2f}", measured), fmt::format("{:.1f} %", 100 * point.spread),
                    fmt::format("{:+.1f} %", 100 * off_by(point)),
                    fmt::format("{:+.1f} %", 100 * off_beside_reference(frontier, point)),
                    point.measured_peak == point.plan.predicted_peak
                        ? "as predicted"
                        : fmt::format("{} bytes instead of {}", point.measured_peak, point.plan.predicted_peak)});
  }
  std::fputs(format_table(rows, {false, true, true, true, true, true, true, false}).c_str(), stdout);
  std::fputs(
      "beside: both as multiples of the plan of least peak, run right before each: without the machine's drift\n",
      stdout);
  MeasuredOrder order = measured_order(frontier);
  fmt::print(
      "{} of {} pairs in the predicted order, of methods at one budget whose predicted times differ by over 3 %\n",
      order.kept, order.pairs);
  for (const std::string& line : order.violations) fmt::print("  {}\n", line);
}

}  // namespace

int write_frontier(const Config& config, RunPlanner& planner, const std::string& folder, bool measure) {
  make_output_folder(folder, "plan");
  Frontier frontier = make_frontier(planner);
  std::optional<Frontier> coarse;
  if (frontier.granularity == "node") {
    Config by_segment = config;
    by_segment.set("recompute.granularity", std::string("segment"), "reprise plan --frontier");
    RunPlanner other(by_segment, planner.profile());
    coarse = make_frontier(other);
  }
  if (measure) measure_frontier(config, frontier);
  write(folder, "frontier", config, frontier, coarse ? &*coarse : nullptr);
  if (coarse) write(folder, "frontier_segment", config, *coarse, nullptr);
  print_smallest(frontier);
  if (measure) print_measured(frontier);
  return 0;
}

}  // namespace reprise
