// Areas, lines and points of a panel.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tools/chart/plot.h"

namespace reprise::chart {
namespace {

/// Places without a gap between them, and the index of each in the series.
struct Run {
  std::vector<Place> places;
  std::vector<std::size_t> index;
};

/// Which values to draw: all, or, where many fall on one column of pixels, the first, least, largest and last there.
/// What the eye sees is the same, and a long run's picture stays small. With `crests` the largest of each three
/// columns.
std::vector<std::size_t> worth_drawing(const std::vector<double>& pixels, const std::vector<double>& heights,
                                       double width, bool crests) {
  std::vector<std::size_t> all(pixels.size()), kept;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  double column = crests ? 3 : 1, enough = crests ? width / column : 4 * width;
  if (static_cast<double>(all.size()) <= enough || !std::is_sorted(pixels.begin(), pixels.end())) return all;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    std::size_t least = begin, most = begin;
    while (end < all.size() && std::floor(pixels[end] / column) == std::floor(pixels[begin] / column)) {
      if (heights[end] < heights[least]) least = end;
      if (heights[end] > heights[most]) most = end;
      ++end;
    }
    if (crests) begin = least = most;  // only this one, but for the ends of the line
    if (crests && kept.empty()) begin = 0;
    std::size_t last = !crests || end == all.size() ? end - 1 : most;
    std::size_t four[] = {begin, std::min(least, most), std::max(least, most), last};
    for (std::size_t i : four) {
      if (kept.empty() || i > kept.back()) kept.push_back(i);
    }
  }
  return kept;
}

std::vector<Run> runs_of(const Plot& plot, const Series& series) {
  std::vector<Run> whole, thinned;
  bool gap = true;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!can_show(series.x[i], plot.x.kind) || !can_show(series.y[i], plot.y.kind)) {
      gap = true;
      continue;
    }
    if (gap) whole.emplace_back();
    gap = false;
    whole.back().places.push_back({plot.x(series.x[i]), plot.y(series.y[i])});
    whole.back().index.push_back(i);
  }
  for (const Run& run : whole) {
    std::vector<double> pixels, heights;
    for (const Place& place : run.places) {
      pixels.push_back(place.x);
      heights.push_back(-place.y);
    }
    Run& kept = thinned.emplace_back();
    for (std::size_t i : worth_drawing(pixels, heights, plot.box.width, plot.panel->crests)) {
      kept.places.push_back(run.places[i]);
      kept.index.push_back(run.index[i]);
    }
  }
  return thinned;
}

std::vector<Place> with_corners(const std::vector<Place>& places) {
  std::vector<Place> out;
  for (const Place& place : places) {
    if (!out.empty()) out.push_back({place.x, out.back().y});
    out.push_back(place);
  }
  return out;
}

void draw_interval(Svg& svg, const Plot& plot, const Series& series, const Run& run, const LineStyle& style) {
  if (series.low.empty() || series.high.empty() || run.places.size() < 2) return;
  std::vector<Place> above, below;
  for (std::size_t k = 0; k < run.index.size(); ++k) {
    double low = series.low[run.index[k]], high = series.high[run.index[k]];
    above.push_back({run.places[k].x, can_show(high, plot.y.kind) ? plot.y(high) : run.places[k].y});
    below.push_back({run.places[k].x, can_show(low, plot.y.kind) ? plot.y(low) : run.places[k].y});
  }
  if (is_step(series)) {
    above = with_corners(above);
    below = with_corners(below);
  }
  above.insert(above.end(), below.rbegin(), below.rend());
  svg.path(path_through(above) + "Z", fmt::format("fill=\"{}\" fill-opacity=\"0.2\"", style.colour));
}

void draw_shape(Svg& svg, const LineStyle& style, Place at, double radius, const std::string& tooltip = {}) {
  svg.path(shape_path(style.shape, at, radius),
           fmt::format("fill=\"{}\" stroke=\"{}\" stroke-width=\"1\"", style.colour,
                       std::string_view(style.colour) == "#ffffff" ? "#000000" : "#ffffff"),
           tooltip);
}

void draw_line(Svg& svg, const Plot& plot, std::size_t at) {
  const Series& series = plot.panel->series[at];
  LineStyle style = plot.style(at);
  std::string dash = *style.dash ? fmt::format(" stroke-dasharray=\"{}\"", style.dash) : "";
  bool white = std::string_view(style.colour) == "#ffffff";
  for (const Run& run : runs_of(plot, series)) {
    if (run.places.size() == 1) continue;
    draw_interval(svg, plot, series, run, style);
    std::vector<Place> places = is_step(series) ? with_corners(run.places) : run.places;
    std::string data = path_through(places);
    if (plot.has_areas) {  // an edge that sets the line off from the colours under it
      svg.path(data, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"",
                                 white ? "#000000" : "#ffffff", number(style.width + (white ? 1.4 : 2))));
    }
    svg.path(data, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{}",
                               style.colour, number(style.width), dash));
  }
}

bool inside(const Box& box, Place at) {
  constexpr double kEdge = 0.5;
  return at.x >= box.x - kEdge && at.x <= box.right() + kEdge && at.y >= box.y - kEdge && at.y <= box.bottom() + kEdge;
}

/// Shapes of lines, not cut off at the edge of the plot; a value without neighbours always has one.
void draw_shapes_of_line(Svg& svg, const Plot& plot, std::size_t at) {
  const Series& series = plot.panel->series[at];
  LineStyle style = plot.style(at);
  for (const Run& run : runs_of(plot, series)) {
    double next = run.places.front().x;
    // At other places for each slot, so that shapes of lines close together do not hide one another.
    if (run.places.size() > 2) next += 12.0 * (plot.slots[at] % 8);
    if (run.places.size() > 1 && !series.marked) continue;
    for (const Place& place : run.places) {
      if (place.x < next || !inside(plot.box, place)) continue;
      draw_shape(svg, style, place, run.places.size() > 1 ? 4.2 : 3.5, run.places.size() > 1 ? "" : series.name);
      next = place.x + 96;
    }
  }
}

std::string tooltip_of(const Plot& plot, const Series& series, std::size_t i) {
  const Panel& panel = *plot.panel;
  if (panel.heat_map) return series.name;
  std::string begin = series.name + (series.name.empty() ? "" : ": ");
  if (!panel.y.names.empty()) {
    auto row =
        static_cast<std::size_t>(std::clamp(std::lround(series.y[i]), 0L, static_cast<long>(panel.y.names.size()) - 1));
    return fmt::format("{}{}, {}", begin, panel.y.names[row], value_text(series.x[i], panel.x.unit));
  }
  return fmt::format("{}{}, {}", begin, value_text(series.x[i], panel.x.unit), value_text(series.y[i], panel.y.unit));
}

void draw_error_bar(Svg& svg, const Plot& plot, const Series& series, std::size_t i, double x, const LineStyle& style) {
  if (series.low.empty() || series.high.empty()) return;
  const Scale& scale = series.across ? plot.x : plot.y;
  if (!can_show(series.low[i], scale.kind) || !can_show(series.high[i], scale.kind)) return;
  std::string stroke = fmt::format("stroke=\"{}\" stroke-width=\"1.4\"", style.colour);
  if (series.across) {
    double y = plot.y(series.y[i]), left = plot.x(series.low[i]), right = plot.x(series.high[i]);
    svg.line({left, y}, {right, y}, stroke);
    svg.line({left, y - 3.5}, {left, y + 3.5}, stroke);
    svg.line({right, y - 3.5}, {right, y + 3.5}, stroke);
    return;
  }
  double top = plot.y(series.high[i]), bottom = plot.y(series.low[i]);
  svg.line({x, top}, {x, bottom}, stroke);
  svg.line({x - 3.5, top}, {x + 3.5, top}, stroke);
  svg.line({x - 3.5, bottom}, {x + 3.5, bottom}, stroke);
}

/// A bar as wide as a lane of points, set off from what it lies on.
void draw_mark(Svg& svg, const Plot& plot, const Series& series, std::size_t i, double x, const LineStyle& style) {
  constexpr double kReach = 6;
  if (series.marks.empty() || !can_show(series.marks[i], plot.y.kind)) return;
  double y = plot.y(series.marks[i]);
  if (!inside(plot.box, {x, y})) return;
  svg.line({x - kReach, y}, {x + kReach, y}, "stroke=\"#ffffff\" stroke-width=\"4.6\"");
  svg.line({x - kReach, y}, {x + kReach, y}, fmt::format("stroke=\"{}\" stroke-width=\"2.6\"", style.colour));
}

/// At the right of a point, set off from the cell or the plot under it.
void draw_point_text(Svg& svg, const Plot& plot, Place place, const std::string& text) {
  std::string ground = plot.panel->heat_map ? ground_at(plot, place) : "#ffffff";
  svg.text({place.x + 8, place.y + 4}, text, {.size = 11, .colour = ink_on(ground), .bold = true, .halo = ground});
}

void draw_points(Svg& svg, const Plot& plot, std::size_t at, const std::vector<double>& pixels) {
  const Series& series = plot.panel->series[at];
  LineStyle style = plot.style(at);
  bool many = series.y.size() > 500;
  for (std::size_t i = 0; i < series.y.size(); ++i) {
    if (!can_show(series.x[i], plot.x.kind) || !can_show(series.y[i], plot.y.kind)) continue;
    Place place{pixels[i], plot.y(series.y[i])};
    if (!inside(plot.box, {plot.x(series.x[i]), place.y})) continue;
    draw_error_bar(svg, plot, series, i, place.x, style);
    draw_mark(svg, plot, series, i, place.x, style);
    draw_shape(svg, style, place, many ? 2.5 : 4.8, many ? std::string() : tooltip_of(plot, series, i));
    if (!series.texts.empty()) draw_point_text(svg, plot, place, series.texts[i]);
  }
}

/// One x of the stacked areas.
struct Column {
  double pixel;
  std::size_t index;
};

std::vector<Column> columns_of(const Plot& plot, const std::vector<std::vector<double>>& tops) {
  const std::vector<double>* x = nullptr;
  const std::vector<double>* total = nullptr;
  for (std::size_t i = 0; i < tops.size(); ++i) {
    if (!is_area(plot.panel->series[i])) continue;
    x = &plot.panel->series[i].x;
    total = &tops[i];
  }
  std::vector<Column> all, kept;
  std::vector<double> pixels, heights;
  for (std::size_t i = 0; x && i < x->size(); ++i) {
    if (!can_show((*x)[i], plot.x.kind)) continue;
    all.push_back({plot.x((*x)[i]), i});
    pixels.push_back(all.back().pixel);
    heights.push_back((*total)[i]);
  }
  for (std::size_t i : worth_drawing(pixels, heights, plot.box.width, plot.panel->crests)) kept.push_back(all[i]);
  if (kept.size() == 1) {  // a single x has no width; a narrow bar shows it
    double middle = kept[0].pixel;
    kept = {{middle - 8, kept[0].index}, {middle + 8, kept[0].index}};
  }
  return kept;
}

}  // namespace

void draw_areas(Svg& svg, const Plot& plot) {
  if (!plot.has_areas) return;
  const Panel& panel = *plot.panel;
  std::vector<std::vector<double>> tops = stacked_tops(panel);
  std::vector<Column> columns = columns_of(plot, tops);
  std::vector<Place> under;
  for (const Column& column : columns) under.push_back({column.pixel, plot.y(0)});
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const Series& series = panel.series[i];
    if (!is_area(series)) continue;
    std::vector<Place> top, edge;
    for (const Column& column : columns) top.push_back({column.pixel, plot.y(tops[i][column.index])});
    edge = is_step(series) ? with_corners(top) : top;
    std::vector<Place> floor = is_step(series) ? with_corners(under) : under, outline = edge;
    outline.insert(outline.end(), floor.rbegin(), floor.rend());
    std::string data = path_through(outline) + "Z";
    svg.path(data, area_fill(plot.slots[i]), series.name);
    // Edges of many narrow steps would cover the areas.
    bool edges = 3 * static_cast<double>(columns.size()) < plot.box.width;
    if (edges) svg.path(path_through(edge), "fill=\"none\" stroke=\"#ffffff\" stroke-width=\"0.7\"");
    under = std::move(top);
  }
}

void draw_lines_and_points(Svg& svg, const Plot& plot) {
  const std::vector<Series>& all = plot.panel->series;
  // A little wider than the plot: a line along its edge is not cut in half.
  svg.open_clip({plot.box.x - 2, plot.box.y - 2, plot.box.width + 4, plot.box.height + 4});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_area(all[i]) && all[i].kind != SeriesKind::points) draw_line(svg, plot, i);
  }
  svg.close_clip();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_area(all[i]) && all[i].kind != SeriesKind::points) draw_shapes_of_line(svg, plot, i);
  }
  std::vector<std::vector<double>> places = places_of_points(plot);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind == SeriesKind::points) draw_points(svg, plot, i, places[i]);
  }
}

}  // namespace reprise::chart
