// Draws a panel that layout.cpp has placed.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tools/chart/heat_map.h"
#include "tools/chart/layout.h"
#include "tools/chart/text.h"

namespace reprise::chart {
namespace {

constexpr double kTickText = 11, kLane = 11, kLaneGap = 3, kLanesAbove = 7;

void draw_grid(Svg& svg, const PanelLayout& layout) {
  const Box& box = layout.plot.box;
  for (double at : layout.y.at) {
    double y = layout.plot.y(at);
    svg.line({box.x, y}, {box.right(), y}, "stroke=\"#e2e2e2\"");
  }
  for (double at : layout.x.at) {
    double x = layout.plot.x(at);
    svg.line({x, box.y}, {x, box.bottom()}, "stroke=\"#eeeeee\"");
  }
}

void draw_y_label(Svg& svg, const PanelLayout& layout) {
  const Box& box = layout.plot.box;
  std::vector<std::string> lines = wrap_text(layout.panel->y.label, 12, box.height);
  double x = box.x - layout.numbers - 6 - 16 * static_cast<double>(lines.size()) + 12;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    svg.text({x + 16 * static_cast<double>(i), box.y + box.height / 2}, lines[i],
             {.size = 12, .anchor = Anchor::middle, .turn = -90});
  }
}

/// Below the names of ticks or columns, which end at `y`.
void draw_x_label(Svg& svg, const PanelLayout& layout, double y) {
  const Box& box = layout.plot.box;
  for (const std::string& line : wrap_text(layout.panel->x.label, 12, box.width)) {
    y += 16;
    svg.text({box.x + box.width / 2, y - 3}, line, {.size = 12, .anchor = Anchor::middle});
  }
}

/// Numbers along both axes; where the numbers end below.
double draw_ticks(Svg& svg, const PanelLayout& layout) {
  const Box& box = layout.plot.box;
  const char* ink = "stroke=\"#333333\"";
  for (std::size_t i = 0; i < layout.y.at.size(); ++i) {
    double y = layout.plot.y(layout.y.at[i]);
    svg.line({box.x - 4, y}, {box.x, y}, ink);
    svg.text({box.x - 7, y + 4}, layout.y.text[i], {.size = kTickText, .anchor = Anchor::end});
  }
  double bottom = box.bottom() + lanes_height(*layout.panel);
  for (std::size_t i = 0; i < layout.x.at.size(); ++i) {
    double x = layout.plot.x(layout.x.at[i]);
    svg.line({x, bottom}, {x, bottom + 4}, ink);
    svg.text({x, bottom + 15}, layout.x.text[i], {.size = kTickText, .anchor = Anchor::middle});
  }
  svg.line({box.x, box.y}, {box.x, box.bottom()}, ink);
  svg.line({box.x, box.bottom()}, {box.right(), box.bottom()}, ink);
  if (bottom > box.bottom()) svg.line({box.x, bottom}, {box.right(), bottom}, ink);
  return bottom + 18;
}

/// Names of rows and columns of a heat map; where the names end below.
double draw_names(Svg& svg, const PanelLayout& layout) {
  const HeatMap& map = *layout.panel->heat_map;
  const Box& box = layout.plot.box;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    svg.text({box.x - 6, layout.plot.y(static_cast<double>(row)) + 4},
             shorten_text(map.rows[row], kTickText, layout.numbers - 10), {.size = kTickText, .anchor = Anchor::end});
  }
  double cell = box.width / static_cast<double>(std::max<std::size_t>(1, map.columns.size()));
  double width = 0;
  for (const std::string& name : map.columns) width = std::max(width, text_width(name, kTickText));
  bool turned = width + 6 > cell;
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    double x = layout.plot.x(static_cast<double>(column));
    if (turned) {
      svg.text({x + 4, box.bottom() + 6}, shorten_text(map.columns[column], kTickText, 150),
               {.size = kTickText, .anchor = Anchor::end, .turn = -90});
    } else {
      svg.text({x, box.bottom() + 15}, map.columns[column], {.size = kTickText, .anchor = Anchor::middle});
    }
  }
  return box.bottom() + (turned ? std::min(width, 150.0) + 10 : 18);
}

void draw_rules(Svg& svg, const PanelLayout& layout) {
  const Box& box = layout.plot.box;
  const char* style = "stroke=\"#333333\" stroke-width=\"1.2\" stroke-dasharray=\"7 3 1.5 3\"";
  for (const Rule& rule : layout.panel->rules) {
    bool along_x = rule.along == Along::x;
    if (!can_show(rule.at, along_x ? layout.panel->x.scale : layout.panel->y.scale)) continue;
    double at = along_x ? layout.plot.x(rule.at) : layout.plot.y(rule.at);
    if (along_x && at >= box.x && at <= box.right()) svg.line({at, box.y}, {at, box.bottom()}, style);
    if (!along_x && at >= box.y && at <= box.bottom()) svg.line({box.x, at}, {box.right(), at}, style);
  }
}

void draw_flags(Svg& svg, const PanelLayout& layout) {
  for (const Flag& flag : layout.flags) {
    double base = layout.plot.box.y - 8 - 15 * flag.row;
    svg.line({flag.x, base - 10}, {flag.x, layout.plot.box.y}, "stroke=\"#707070\"");
    svg.text({flag.leans ? flag.x - 4 : flag.left + 4, base}, flag.text,
             {.size = kTickText, .anchor = flag.leans ? Anchor::end : Anchor::start, .colour = "#444444"});
  }
}

void draw_lanes(Svg& svg, const PanelLayout& layout) {
  const Panel& panel = *layout.panel;
  const Box& box = layout.plot.box;
  double y = box.bottom() + kLanesAbove;
  for (const Lane& lane : panel.lanes) {
    svg.rect({box.x, y, box.width, kLane}, "fill=\"#f4f4f4\"");
    std::optional<int> slot = slot_of(panel, layout.plot.slots, lane.name);
    for (const auto& [from, to] : lane.ranges) {
      if (std::isnan(from) || std::isnan(to)) continue;
      double a = std::clamp(layout.plot.x(std::min(from, to)), box.x, box.right());
      double b = std::clamp(layout.plot.x(std::max(from, to)), box.x, box.right());
      svg.rect({a, y, b - a, kLane}, slot ? hatch_fill(*slot) : hatch_fill(), lane.name);
      svg.line({b, y}, {b, y + kLane}, "stroke=\"#333333\"");
    }
    svg.text({box.x - 7, y + kLane - 1.5}, shorten_text(lane.name, kTickText, 130),
             {.size = kTickText, .anchor = Anchor::end});
    y += kLane + kLaneGap;
  }
}

bool has_values(const Panel& panel) {
  if (panel.heat_map) return !panel.heat_map->values.empty();
  for (const Series& series : panel.series) {
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      if (can_show(series.x[i], panel.x.scale) && can_show(series.y[i], panel.y.scale)) return true;
    }
  }
  return false;
}

void draw_inside(Svg& svg, const PanelLayout& layout) {
  const Plot& plot = layout.plot;
  if (layout.panel->heat_map) {
    draw_cells(svg, plot);
  } else {
    svg.rect(plot.box, "fill=\"#ffffff\"");
    draw_grid(svg, layout);
    draw_bands(svg, plot);
    svg.open_clip(plot.box);
    draw_areas(svg, plot);
    svg.close_clip();
    draw_rules(svg, layout);
  }
  draw_lines_and_points(svg, plot);
  if (layout.panel->heat_map) draw_cell_texts(svg, plot);
  if (!has_values(*layout.panel)) {
    svg.text({plot.box.x + plot.box.width / 2, plot.box.y + plot.box.height / 2 + 5}, "no data",
             {.size = 14, .anchor = Anchor::middle, .colour = "#707070", .halo = "#ffffff"});
  }
}

void draw_beside(Svg& svg, const PanelLayout& layout, double y, double full) {
  const Box& box = layout.plot.box;
  double x = box.right() + 16;
  if (layout.panel->heat_map) {
    draw_colour_bar(svg, *layout.panel->heat_map, {x, box.y}, box.height);
    x += colour_bar_width(*layout.panel->heat_map, box.height) + 16;
  }
  if (layout.legend.empty()) return;
  if (layout.legend_right) {
    draw_legend_column(svg, layout.legend, {x + 2, box.y}, kLegendMost);
  } else {
    draw_legend_rows(svg, layout.legend, {layout.begin + kMargin, y + 12}, full - layout.begin - 2 * kMargin);
  }
}

}  // namespace

double lanes_height(const Panel& panel) {
  return panel.lanes.empty() ? 0 : kLanesAbove + (kLane + kLaneGap) * static_cast<double>(panel.lanes.size());
}

void draw_panel(Svg& svg, PanelLayout& layout, double top, double full) {
  Box& box = layout.plot.box;
  box.y = top + layout.above;
  layout.plot.y.from += box.y;
  layout.plot.y.to += box.y;
  double y = top;
  for (const std::string& line : wrap_text(layout.panel->title, 14, full - box.x - kMargin)) {
    svg.text({box.x, y + 14}, line, {.size = 14, .colour = "#111111", .bold = true});
    y += 19;
  }
  draw_inside(svg, layout);
  draw_flags(svg, layout);
  draw_lanes(svg, layout);
  double names_end = layout.panel->heat_map ? draw_names(svg, layout) : draw_ticks(svg, layout);
  draw_y_label(svg, layout);
  draw_x_label(svg, layout, names_end);
  double label = 16 * static_cast<double>(wrap_text(layout.panel->x.label, 12, box.width).size());
  draw_beside(svg, layout, names_end + label, full);
}

}  // namespace reprise::chart
