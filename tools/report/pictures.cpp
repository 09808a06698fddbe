#include "tools/report/pictures.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/report/wording.h"

namespace reprise::report {

chart::Panel forest_panel(const std::vector<std::string>& rows, const std::vector<ForestPoint>& points) {
  chart::Panel panel;
  panel.y.names = rows;
  for (const ForestPoint& point : points) {
    bool known = std::any_of(panel.series.begin(), panel.series.end(),
                             [&](const chart::Series& series) { return series.name == point.series; });
    if (known) continue;
    chart::Series& series = panel.series.emplace_back();
    series.kind = chart::SeriesKind::points;
    series.name = point.series;
    series.across = true;
    series.slot = point.slot;
  }
  // The series that a row has share its height, so that a row with few of them has no gaps.
  std::size_t most = 1;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<chart::Series*> here;
    for (chart::Series& series : panel.series) {
      bool present = std::any_of(points.begin(), points.end(), [&](const ForestPoint& point) {
        return point.row == rows[row] && point.series == series.name;
      });
      if (present) here.push_back(&series);
    }
    most = std::max(most, here.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      double shift = (static_cast<double>(i) - (static_cast<double>(here.size()) - 1) / 2) * 0.76 /
                     static_cast<double>(std::max<std::size_t>(here.size(), 2));
      for (const ForestPoint& point : points) {
        if (point.row != rows[row] || point.series != here[i]->name) continue;
        here[i]->x.push_back(point.value);
        here[i]->y.push_back(static_cast<double>(row) + shift);
        here[i]->low.push_back(point.low);
        here[i]->high.push_back(point.high);
      }
    }
  }
  panel.height = 12 + static_cast<double>(rows.size()) * std::max(24.0, 12 * static_cast<double>(most) + 8);
  return panel;
}

void mark_equal(chart::Panel& panel, const std::string& reference) {
  panel.rules.push_back({chart::Along::x, 1, "1: as long as " + reference});
}

}  // namespace reprise::report
