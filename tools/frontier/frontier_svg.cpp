#include <algorithm>
#include <cmath>
#include <map>

#include "tools/chart/chart.h"
#include "tools/frontier/frontier.h"

namespace reprise {

namespace {

/// More values where the line is flat: a line shows its shape at values only, and lines that coincide are told apart by
/// shapes at different places.
void fill_flat_parts(chart::Series& series) {
  if (series.x.size() < 2) return;
  double step = (series.x.back() - series.x.front()) / 150;
  std::vector<double> x, y;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    double end = i + 1 < series.x.size() ? series.x[i + 1] - step / 2 : series.x[i] + step / 2;
    for (double at = series.x[i]; at < end; at += step) {
      x.push_back(at);
      y.push_back(series.y[i]);
    }
  }
  series.x = std::move(x);
  series.y = std::move(y);
}

/// A plan serves every budget from its own peak on, so the curve falls there and not at the budget that was tried.
chart::Series curve(const Frontier& frontier, const std::string& method, std::string name, int slot) {
  std::vector<std::pair<std::int64_t, std::int64_t>> plans;  // peak, time
  std::int64_t end = 0;
  for (const FrontierPoint& point : frontier.points) {
    if (point.method == method) plans.emplace_back(point.plan.predicted_peak, point.plan.predicted_ns);
    end = std::max(end, point.budget);
  }
  std::sort(plans.begin(), plans.end());
  chart::Series series;
  series.kind = chart::SeriesKind::step;
  series.name = std::move(name);
  series.slot = slot;
  series.marked = true;
  for (const auto& [peak, ns] : plans) {
    double seconds = static_cast<double>(ns) * 1e-9;
    if (!series.y.empty() && seconds >= series.y.back()) continue;
    series.x.push_back(static_cast<double>(peak));
    series.y.push_back(seconds);
  }
  if (!series.x.empty() && static_cast<double>(end) > series.x.back()) {
    series.x.push_back(static_cast<double>(end));
    series.y.push_back(series.y.back());
  }
  fill_flat_parts(series);
  return series;
}

/// Whether two methods take the same time at every budget, to a thousandth.
bool coincide(const Frontier& frontier, const std::string& a, const std::string& b) {
  std::map<std::int64_t, std::int64_t> times;
  for (const FrontierPoint& point : frontier.points) {
    if (point.method == a) times[point.budget] = point.plan.predicted_ns;
  }
  std::size_t met = 0;
  for (const FrontierPoint& point : frontier.points) {
    if (point.method != b) continue;
    auto at = times.find(point.budget);
    if (at == times.end() || std::abs(at->second - point.plan.predicted_ns) * 1000 > at->second) return false;
    ++met;
  }
  return met == times.size();
}

/// "lines that coincide: whole = region; retain+whole = joint".
std::string coinciding(const Frontier& frontier) {
  std::vector<std::string> left;
  for (const auto& [method, smallest] : frontier.smallest) left.push_back(method);
  std::string text;
  while (!left.empty()) {
    std::string first = left.front(), group = first;
    std::vector<std::string> others;
    for (const std::string& method : left) {
      if (method == first) continue;
      if (coincide(frontier, first, method))
        group += " = " + method;
      else
        others.push_back(method);
    }
    if (group != first) text += (text.empty() ? "lines that coincide: " : "; ") + group;
    left = std::move(others);
  }
  return text;
}

chart::Series measured(const Frontier& frontier, const std::string& method, int slot) {
  chart::Series series;
  series.kind = chart::SeriesKind::points;
  series.name = method;
  series.slot = slot;
  for (const FrontierPoint& point : frontier.points) {
    if (point.method != method || point.measured_ns == 0) continue;
    double seconds = static_cast<double>(point.measured_ns) * 1e-9;
    series.x.push_back(static_cast<double>(point.budget));
    series.y.push_back(seconds);
    series.low.push_back(std::max(0.0, seconds * (1 - point.spread / 2)));
    series.high.push_back(seconds * (1 + point.spread / 2));
  }
  return series;
}

}  // namespace

std::string frontier_svg(const Frontier& frontier, const std::string& title, const Frontier* coarse) {
  chart::Panel panel;
  panel.x.label = "budget";
  panel.x.unit = chart::Unit::bytes;
  panel.y.label = "step time";
  panel.y.unit = chart::Unit::seconds;
  panel.height = 340;
  panel.lanes_label = "hatched: no plan";
  double low = INFINITY, high = 0;
  for (const auto& [method, smallest] : frontier.smallest) low = std::min(low, static_cast<double>(smallest));
  for (const FrontierPoint& point : frontier.points) high = std::max(high, static_cast<double>(point.budget));
  low -= (high - low) * 0.04;  // so that it shows where nothing fits
  int slot = 0;
  bool any_measured = false;
  for (const auto& [method, smallest] : frontier.smallest) {
    panel.series.push_back(curve(frontier, method, method, slot));
    chart::Series points = measured(frontier, method, slot);
    if (!points.x.empty()) panel.series.push_back(std::move(points)), any_measured = true;
    chart::Lane lane{method, {}};
    if (static_cast<double>(smallest) > low) lane.ranges.emplace_back(low, static_cast<double>(smallest));
    panel.lanes.push_back(std::move(lane));
    ++slot;
  }
  if (coarse) panel.series.push_back(curve(*coarse, "joint", "joint, segments as a whole", slot));
  if (any_measured) panel.note = "points: measured medians (bars as long as their middle half)";
  chart::Chart picture;
  picture.title = title + ": step time against budget";
  picture.subtitle =
      fmt::format("{}; lines: predicted time of the fastest plan found within the budget",
                  frontier.granularity == "node" ? "replayed segments may keep single results (granularity node)"
                                                 : "segments are kept or replayed as a whole (granularity segment)");
  picture.footnote = coinciding(frontier);
  picture.panels.push_back(std::move(panel));
  return chart::to_svg(picture);
}

}  // namespace reprise
