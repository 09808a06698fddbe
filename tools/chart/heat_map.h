// The colours of a heat map and the bar that explains them.
// Used by the layout and the drawing of charts.
#pragma once

#include <string>
#include <utility>

#include "tools/chart/chart.h"
#include "tools/chart/svg.h"
#include "tools/chart/ticks.h"

namespace reprise::chart {

/// The values at the ends of the colours; never equal.
std::pair<double, double> heat_range(const HeatMap& map);
std::string cell_colour(const HeatMap& map, double low, double high, double value);

/// Pixels across, with its numbers and its label.
double colour_bar_width(const HeatMap& map, double height);
void draw_colour_bar(Svg& svg, const HeatMap& map, Place at, double height);

}  // namespace reprise::chart
