#include "recompute/planning/plan_text.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/text.h"

namespace reprise {

namespace {

std::string ms(std::int64_t ns) { return fmt::format("{:.2f}", static_cast<double>(ns) * 1e-6); }

std::int64_t count_states(const Plan& plan, StateOption state) {
  return std::count_if(plan.classes.begin(), plan.classes.end(),
                       [&](const PlannedClass& c) { return c.bytes > 0 && c.state == state; });
}

}  // namespace

std::string plan_summary(const Plan& plan) {
  auto segments = static_cast<std::int64_t>(plan.segments.size());
  std::int64_t replayed = 0, kept = 0, preserved = 0;
  for (const PlannedSegment& segment : plan.segments) {
    replayed += segment.replay;
    kept += static_cast<std::int64_t>(segment.kept.size());
  }
  for (const PlannedClass& c : plan.classes) preserved += c.bytes;
  std::string budget =
      plan.budget > 0 ? fmt::format(", budget {} ({} bytes)", short_bytes(plan.budget), plan.budget) : "";
  return fmt::format(
      "plan {}: {} of {} retained, {} replayed with {} kept; {} preserved whole, {} by region, {}\n"
      "  predicted peak {} ({} bytes) in the {}{}\n"
      "  predicted step {} ms, lower bound {} ms, gap {:.3f} %{}",
      plan.method, segments - replayed, counted(segments, "segment"), replayed, counted(kept, "result"),
      counted(count_states(plan, StateOption::whole), "state"), count_states(plan, StateOption::region),
      short_bytes(preserved), short_bytes(plan.predicted_peak), plan.predicted_peak, plan.binding_row, budget,
      ms(plan.predicted_ns), ms(plan.lower_bound_ns), plan.gap() * 100, plan.proven ? ": optimal" : "");
}

std::string plan_table(const Plan& plan) {
  std::vector<std::vector<std::string>> rows{{"segment", "option", "kept", "preserved", "replay ms", "move ms", "why"}};
  for (const PlannedSegment& s : plan.segments) {
    rows.push_back({s.id, s.option, short_bytes(s.bytes_kept), short_bytes(s.bytes_preserved),
                    ms(s.replay ? s.replay_ns : 0), ms(s.move_ns), s.why});
  }
  std::string text = format_table(rows, {false, false, true, true, true, true, false}) + "\n";
  rows = {{"state", "write", "option", "preserved", "for"}};
  for (const PlannedClass& c : plan.classes) {
    if (c.bytes == 0) continue;
    rows.push_back({c.storage, fmt::format("node {}", c.node), to_string(c.state), short_bytes(c.bytes),
                    fmt::format("{}", fmt::join(c.readers, ", "))});
  }
  if (rows.size() > 1) text += format_table(rows, {false, false, false, true, false}) + "\n";
  return text + plan_summary(plan) + "\n";
}

std::string plans_side_by_side(const std::vector<PlanRow>& rows, std::int64_t budget) {
  std::vector<std::vector<std::string>> table{
      {"method", "peak bytes", "of budget", "step ms", "bound ms", "gap %", "retained", "replayed", "whole", "region"}};
  for (const PlanRow& row : rows) {
    if (!row.answer.plan) {
      table.push_back({row.method, fmt::format("needs {}", row.answer.none.smallest_budget),
                       short_bytes(row.answer.none.smallest_budget), "", "", "", "", "", "", ""});
      continue;
    }
    const Plan& plan = *row.answer.plan;
    auto replayed =
        std::count_if(plan.segments.begin(), plan.segments.end(), [](const PlannedSegment& s) { return s.replay; });
    std::string share =
        budget > 0
            ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(plan.predicted_peak) / static_cast<double>(budget))
            : "-";
    table.push_back({row.method, std::to_string(plan.predicted_peak), share, ms(plan.predicted_ns),
                     ms(plan.lower_bound_ns), fmt::format("{:.3f}", plan.gap() * 100),
                     std::to_string(static_cast<std::int64_t>(plan.segments.size()) - replayed),
                     std::to_string(replayed), std::to_string(count_states(plan, StateOption::whole)),
                     std::to_string(count_states(plan, StateOption::region))});
  }
  return format_table(table, {false, true, true, true, true, true, true, true, true, true});
}

}  // namespace reprise
