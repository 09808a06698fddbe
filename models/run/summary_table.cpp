#include "models/run/summary_table.h"

#include <fmt/core.h>

#include "core/text.h"
#include "models/run/progress.h"

namespace reprise {
namespace {

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "-" : json_line(value);
}

std::string number(const Json& value, const char* unit, int digits) {
  return value.is_number() ? fmt::format("{:.{}f}{}", value.get<double>(), digits, unit) : "-";
}

std::string bytes(const Json& value) {
  return value.is_number_integer() ? short_bytes(value.get<std::int64_t>()) : "-";
}

std::string percents(const Json& first, const Json& second) {
  std::string text = number(first, " %", 2);
  return second.is_number() ? text + ", top-5 " + number(second, " %", 2) : text;
}

/// "41.5, after step 300".
std::string best_text(const Json& summary) {
  const Json& value = json_at(summary, "best/value");
  return fmt::format("{}, after step {}", value.is_number() ? fmt::format("{:.6g}", value.get<double>()) : "-",
                     text_of(json_at(summary, "best/step")));
}

std::string plan_text(const Json& summary) {
  std::string text = text_of(json_at(summary, "plan/method"));
  if (const Json& budget = json_at(summary, "memory/budget_bytes"); budget.is_number())
    text += ", budget " + bytes(budget);
  if (const Json& gap = json_at(summary, "plan/gap"); gap.is_number()) {
    text += fmt::format(", at most {:.1f} % above the fastest plan", 100 * gap.get<double>());
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> summary_rows(const Json& summary) {
  std::vector<std::pair<std::string, std::string>> rows;
  auto add = [&](const char* name, std::string text) { rows.emplace_back(name, std::move(text)); };
  add("model", text_of(json_at(summary, "model")));
  add("steps", text_of(json_at(summary, "steps")));
  bool trained = json_at(summary, "steps") != 0;
  add("loss of the last step", trained ? number(json_at(summary, "train/loss"), "", 4) : "-");
  if (json_at(summary, "probe/top1").is_number()) {
    add("probe top-1", percents(json_at(summary, "probe/top1"), json_at(summary, "probe/top5")));
  }
  if (const Json& untrained = json_at(summary, "probe/untrained/top1"); untrained.is_number()) {
    add("  untrained encoder", percents(untrained, json_at(summary, "probe/untrained/top5")));
  }
  if (json_at(summary, "test/top1").is_number()) {
    add("test top-1", percents(json_at(summary, "test/top1"), json_at(summary, "test/top5")));
  }
  if (json_at(summary, "best/metric").is_string()) {
    add(fmt::format("best {}", text_of(json_at(summary, "best/metric"))).c_str(), best_text(summary));
  }
  for (const char* unit : {"images", "examples"}) {
    const Json& rate = json_at(summary, fmt::format("train/{}_per_second", unit));
    if (rate.is_number()) add(fmt::format("{} per second", unit).c_str(), number(rate, "", 1));
  }
  add("time in steps", json_at(summary, "train/seconds").is_number()
                           ? readable_seconds(json_at(summary, "train/seconds").get<double>())
                           : "-");
  add("peak memory", bytes(json_at(summary, "memory/peak_bytes")));
  add("  predicted", bytes(json_at(summary, "plan/predicted_peak_bytes")));
  add("  held by the arena", bytes(json_at(summary, "memory/arena_bytes")));
  add("recomputation", plan_text(summary));
  return rows;
}

std::string summary_text(const Json& summary) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, text] : summary_rows(summary)) rows.push_back({name, text});
  return format_table(rows);
}

}  // namespace reprise
