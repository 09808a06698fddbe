// The cells of a heat map.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tools/chart/heat_map.h"
#include "tools/chart/plot.h"
#include "tools/chart/text.h"

namespace reprise::chart {
namespace {

/// The text of a cell. Plain numbers have the same decimals in all cells, as many as the largest needs for three
/// digits.
std::string cell_text(const HeatMap& map, double low, double high, double value) {
  double largest = std::max(std::fabs(low), std::fabs(high));
  if (map.unit != Unit::number || largest < 1e-3 || largest >= 1e7) return value_text(value, map.unit);
  return decimal_text(value, std::clamp(2 - static_cast<int>(std::floor(std::log10(largest))), 0, 5));
}

Box box_of(const Plot& plot, std::size_t row, std::size_t column) {
  const HeatMap& map = *plot.panel->heat_map;
  double width = plot.box.width / static_cast<double>(map.columns.size());
  double height = plot.box.height / static_cast<double>(map.rows.size());
  return {plot.box.x + static_cast<double>(column) * width, plot.box.y + static_cast<double>(row) * height, width,
          height};
}

/// The size of all texts, or 0 where the longest has no room.
double text_size(const Plot& plot, double low, double high) {
  const HeatMap& map = *plot.panel->heat_map;
  if (!map.show_values || map.values.empty()) return 0;
  double widest = 0;  // at a size of 1
  for (double value : map.values) {
    if (can_show(value, ScaleKind::linear)) widest = std::max(widest, text_width(cell_text(map, low, high, value), 1));
  }
  Box box = box_of(plot, 0, 0);
  double size = std::clamp(std::min(box.width, box.height) * 0.4, 8.0, 12.0);
  if (widest > 0) size = std::min(size, (box.width - 6) / widest);
  return size >= 8.5 && size + 4 <= box.height ? size : 0;
}

/// The baseline of a text: in the middle of its cell, or above or below a point that lies there.
double baseline(const Plot& plot, const Box& box, double size) {
  constexpr double kPoint = 8;
  double middle = box.y + box.height / 2, x = box.x + box.width / 2;
  if (box.height < 2 * (size + kPoint)) return middle + size * 0.35;
  for (const Series& series : plot.panel->series) {
    if (series.kind != SeriesKind::points) continue;
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      double off = plot.y(series.y[i]) - middle;
      if (std::fabs(plot.x(series.x[i]) - x) > box.width / 2 || std::fabs(off) > size / 2 + kPoint) continue;
      return off > 0 ? box.y + size + 2 : box.bottom() - 5;
    }
  }
  return middle + size * 0.35;
}

}  // namespace

std::string ground_at(const Plot& plot, Place place) {
  const HeatMap& map = *plot.panel->heat_map;
  auto [low, high] = heat_range(map);
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    Box box = box_of(plot, i / map.columns.size(), i % map.columns.size());
    bool inside = place.x >= box.x && place.x < box.right() && place.y >= box.y && place.y < box.bottom();
    if (inside && can_show(map.values[i], ScaleKind::linear)) return cell_colour(map, low, high, map.values[i]);
  }
  return "#f4f4f4";
}

void draw_cells(Svg& svg, const Plot& plot) {
  const HeatMap& map = *plot.panel->heat_map;
  auto [low, high] = heat_range(map);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      double value = map.values[row * map.columns.size() + column];
      Box box = box_of(plot, row, column);
      bool shown = can_show(value, ScaleKind::linear);
      std::string fill = hatch_fill();
      if (shown) fill = fmt::format("fill=\"{}\"", cell_colour(map, low, high, value));
      if (!shown) svg.rect(box, "fill=\"#f4f4f4\"");
      svg.rect(box, fill + " stroke=\"#ffffff\" stroke-width=\"1\"",
               fmt::format("{}, {}: {}", map.rows[row], map.columns[column], value_text(value, map.unit)));
    }
  }
}

void draw_cell_texts(Svg& svg, const Plot& plot) {
  const HeatMap& map = *plot.panel->heat_map;
  auto [low, high] = heat_range(map);
  double size = text_size(plot, low, high);
  if (size == 0) return;
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    if (!can_show(map.values[i], ScaleKind::linear)) continue;
    Box box = box_of(plot, i / map.columns.size(), i % map.columns.size());
    std::string colour = cell_colour(map, low, high, map.values[i]);
    TextStyle style{.size = size, .anchor = Anchor::middle, .colour = ink_on(colour)};
    if (!plot.panel->series.empty()) style.halo = colour;
    svg.text({box.x + box.width / 2, baseline(plot, box, size)}, cell_text(map, low, high, map.values[i]), style);
  }
}

}  // namespace reprise::chart
