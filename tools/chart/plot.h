// One panel while it is drawn: where its plot lies, its scales, and the slot (colour and shape) of each series.
//
// Made by layout.cpp; read by everything that draws into the plot.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/chart/chart.h"
#include "tools/chart/palette.h"
#include "tools/chart/svg.h"
#include "tools/chart/ticks.h"

namespace reprise::chart {

/// From values of an axis to pixels. `from` is where `low` lies.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  ScaleKind kind = ScaleKind::linear;
  /// Infinite values lie at the ends; pixels far outside are brought near.
  double operator()(double value) const;
};

struct Plot {
  const Panel* panel = nullptr;
  Box box;
  Scale x, y;
  std::vector<int> slots;  // of panel->series
  bool has_areas = false;

  LineStyle style(std::size_t series) const;
};

bool is_area(const Series& series);
bool is_step(const Series& series);

/// The slot of each series: equal names share one, areas and the others are counted apart.
std::vector<int> series_slots(const Panel& panel);
/// The slot of the series of that name, else nothing.
std::optional<int> slot_of(const Panel& panel, const std::vector<int>& slots, const std::string& name);

/// The upper edge of each area of the panel, in the order of the series; those that are no area have none.
std::vector<std::vector<double>> stacked_tops(const Panel& panel);

/// Where the points of each series lie along x, in pixels; empty for other series, infinite for a missing value. With
/// Panel::beside those that would cover one another are moved apart.
std::vector<std::vector<double>> places_of_points(const Plot& plot);

void draw_bands(Svg& svg, const Plot& plot);
void draw_areas(Svg& svg, const Plot& plot);
/// Lines and points, the lines first.
void draw_lines_and_points(Svg& svg, const Plot& plot);
/// Cells of the heat map, and their values where there is room; these over the series, and out of the way of points.
void draw_cells(Svg& svg, const Plot& plot);
void draw_cell_texts(Svg& svg, const Plot& plot);
/// The colour of the cell of a heat map under a place.
std::string ground_at(const Plot& plot, Place place);

}  // namespace reprise::chart
