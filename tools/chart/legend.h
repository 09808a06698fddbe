// The legend of a panel: measured before the plot is placed, so that it never lies over data.
// Used by layout.cpp.
#pragma once

#include <string>
#include <vector>

#include "tools/chart/plot.h"

namespace reprise::chart {

struct LegendEntry {
  std::string name;
  bool line = false, shape = false, area = false, hatch = false, rule = false;
  LineStyle style{};
  int slot = 0;
};

struct Legend {
  std::vector<LegendEntry> entries;
  std::string note;
  bool empty() const { return entries.empty() && note.empty(); }
};

/// Stacked areas come first, the topmost first; nothing for a panel with one series that its axis names already.
Legend legend_of(const Plot& plot);

struct Size {
  double width = 0, height = 0;
};

/// As a column no wider than `most`.
Size legend_column_size(const Legend& legend, double most);
void draw_legend_column(Svg& svg, const Legend& legend, Place at, double most);

/// As rows of at most `width`.
double legend_rows_height(const Legend& legend, double width);
void draw_legend_rows(Svg& svg, const Legend& legend, Place at, double width);

}  // namespace reprise::chart
