// Places the parts of a panel and draws them. Used by chart.cpp alone.
//
// All text around a plot is measured first: margins follow from it, and what is measured is what is drawn.
#pragma once

#include <string>
#include <vector>

#include "tools/chart/legend.h"
#include "tools/chart/plot.h"

namespace reprise::chart {

/// The label of a band or rule along x: above the plot, in a row of its own where neighbours would overlap.
struct Flag {
  double x = 0;     // the place it points at
  double left = 0;  // of the text
  double width = 0;
  int row = 0;         // 0 is next to the plot
  bool leans = false;  // the text ends at x
  std::string text;
};

struct PanelLayout {
  const Panel* panel = nullptr;
  Plot plot;
  Ticks x, y;
  Legend legend;
  std::vector<Flag> flags;
  double numbers = 0;           // pixels at the left for the numbers of the y axis or the names of rows
  double left = 0;              // pixels beside the plot for numbers and labels
  double right = 0;             // for the colour bar and the legend column
  double above = 0, below = 0;  // for the title and flags; for lanes, numbers, label and legend rows
  bool legend_right = false;
  double begin = 0;  // the left end of the panel's part of the picture
};

/// Finds ranges, y ticks and the pixels that are needed at the left.
PanelLayout measure_sides(const Panel& panel);
/// The pixels at the right, with the legend there or not.
double right_needed(const PanelLayout& layout, bool legend_right, double most);
/// Sets the plot's left edge and width, x ticks, flags, above and below. The panel's part of the picture reaches from
/// `begin` to `full`.
void measure_plot(PanelLayout& layout, double left, double width, double full, bool legend_right);
/// `top` is where the panel begins.
void draw_panel(Svg& svg, PanelLayout& layout, double top, double full);

/// Pixels for the bars below the plot.
double lanes_height(const Panel& panel);

constexpr double kMargin = 18;
constexpr double kLegendMost = 230;

}  // namespace reprise::chart
