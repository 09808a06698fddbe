#include <algorithm>
#include <cmath>

#include "tools/chart/chart.h"
#include "tools/frontier/frontier.h"

namespace reprise {

namespace {

chart::Series curve(const Frontier& frontier, const std::string& method, int slot) {
  chart::Series series;
  series.kind = chart::SeriesKind::step;
  series.name = method;
  series.slot = slot;
  for (const FrontierPoint& point : frontier.points) {
    if (point.method != method) continue;
    series.x.push_back(static_cast<double>(point.budget));
    series.y.push_back(static_cast<double>(point.plan.predicted_ns) * 1e-9);
  }
  return series;
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
    series.low.push_back(seconds * (1 - point.spread / 2));
    series.high.push_back(seconds * (1 + point.spread / 2));
  }
  return series;
}

}  // namespace

std::string frontier_svg(const Frontier& frontier, const std::string& title) {
  chart::Panel panel;
  panel.x.label = "budget";
  panel.x.unit = chart::Unit::bytes;
  panel.y.label = "step time";
  panel.y.unit = chart::Unit::seconds;
  panel.height = 340;
  panel.lanes_label = "hatched: no plan";
  double low = INFINITY;
  for (const auto& [method, smallest] : frontier.smallest) low = std::min(low, static_cast<double>(smallest));
  int slot = 0;
  bool any_measured = false;
  for (const auto& [method, smallest] : frontier.smallest) {
    panel.series.push_back(curve(frontier, method, slot));
    chart::Series points = measured(frontier, method, slot);
    if (!points.x.empty()) panel.series.push_back(std::move(points)), any_measured = true;
    chart::Lane lane{method, {}};
    if (static_cast<double>(smallest) > low) lane.ranges.emplace_back(low, static_cast<double>(smallest));
    panel.lanes.push_back(std::move(lane));
    ++slot;
  }
  if (any_measured) panel.note = "points: measured medians, bars: middle half";
  chart::Chart picture;
  picture.title = title + ": step time against budget";
  picture.subtitle = "granularity " + frontier.granularity + "; lines: predicted time of the plan found at that budget";
  picture.panels.push_back(std::move(panel));
  return chart::to_svg(picture);
}

}  // namespace reprise
