// Pictures that several sections of a report share. Used by the sections.
// Data in, chart out: nothing here reads a record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/chart/chart.h"

namespace reprise::report {

/// One value of a named row, with an interval where low and high are finite.
struct ForestPoint {
  std::string row, series;
  double value = 0, low = 0, high = 0;
  std::optional<int> slot = {};  // colour and shape of the series; else the next that is free
};

/// Rows of points with intervals across them; series of one row stand below one another. Rows in the order of `rows`,
/// series in the order of their first point.
chart::Panel forest_panel(const std::vector<std::string>& rows, const std::vector<ForestPoint>& points);

/// Adds an upright line at 1, which is as long as the reference takes.
void mark_equal(chart::Panel& panel, const std::string& reference);

}  // namespace reprise::report
