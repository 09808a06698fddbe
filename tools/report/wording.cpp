#include "tools/report/wording.h"

#include <fmt/core.h>

#include <cctype>
#include <cmath>

#include "tools/chart/chart.h"
#include "tools/chart/ticks.h"

namespace reprise::report {

std::string ratio_text(double value) { return std::isfinite(value) ? chart::decimal_text(value, 4) : "none"; }

std::string interval_text(const study::Interval& interval) {
  if (!interval.defined()) return "";
  return "[" + ratio_text(interval.low) + ", " + ratio_text(interval.high) + "]";
}

std::string ratio_text(const study::RatioSummary& summary) {
  std::string text = ratio_text(summary.geometric_mean), interval = interval_text(summary.bootstrap);
  return interval.empty() ? text : text + " " + interval;
}

std::string more_or_less(double ratio) {
  if (!std::isfinite(ratio)) return "unknown";
  std::string percent = chart::decimal_text(std::fabs(ratio - 1) * 100, 2);
  if (percent == "0.00") return "equal";
  return percent + (ratio < 1 ? " % less" : " % more");
}

std::string seconds_text(double value) { return chart::value_text(value, chart::Unit::seconds); }

std::string bytes_text(double value) { return chart::value_text(value, chart::Unit::bytes); }

std::string count_text(std::int64_t count) { return chart::decimal_text(static_cast<double>(count), 0); }

std::string counted(std::int64_t count, const std::string& one, const std::string& several) {
  return count_text(count) + " " + (count == 1 ? one : several);
}

std::string file_name(const std::string& text) {
  std::string name;
  for (char c : text) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!plain && !name.empty() && name.back() != '-') name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

std::string budget_text(const Place& place) {
  if (!(place.budget_bytes > 0)) return place.budget;
  std::string bytes = bytes_text(place.budget_bytes);
  return place.budget.empty() ? bytes : place.budget + " (" + bytes + ")";
}

}  // namespace reprise::report
