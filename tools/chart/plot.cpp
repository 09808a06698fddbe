#include "tools/chart/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/chart/heat_map.h"
#include "tools/chart/text.h"

namespace reprise::chart {

double Scale::operator()(double value) const {
  double a = low, b = high;
  if (kind == ScaleKind::log) {
    value = value > 0 ? std::log(value) : -HUGE_VAL;
    a = std::log(low);
    b = std::log(high);
  }
  // A picture is a few thousand pixels wide; renderers round badly far outside of it.
  double share = std::clamp((value - a) / (b - a), -20.0, 21.0);
  return from + (to - from) * share;
}

LineStyle Plot::style(std::size_t series) const {
  LineStyle style = has_areas ? line_over_areas_style(slots[series]) : line_style(slots[series]);
  bool alone = std::all_of(slots.begin(), slots.end(), [&](int slot) { return slot == slots[series]; });
  if (alone) style.width = 2;  // nothing else can run along it
  if (panel->series[series].stroke == Stroke::solid) style.dash = "";
  if (panel->series[series].stroke == Stroke::dashed && *style.dash == 0) style.dash = "6 4";
  return style;
}

bool is_area(const Series& series) { return series.kind == SeriesKind::area || series.kind == SeriesKind::step_area; }

bool is_step(const Series& series) { return series.kind == SeriesKind::step || series.kind == SeriesKind::step_area; }

std::vector<int> series_slots(const Panel& panel) {
  std::vector<int> slots;
  std::map<std::pair<bool, std::string>, int> named;
  int next[2] = {0, 0};
  for (const Series& series : panel.series) {
    bool area = is_area(series);
    auto known = named.find({area, series.name});
    int slot = series.slot                                    ? std::max(0, *series.slot)
               : !series.name.empty() && known != named.end() ? known->second
                                                              : next[area]++;
    if (!series.name.empty()) named.emplace(std::make_pair(area, series.name), slot);
    slots.push_back(slot);
  }
  return slots;
}

std::optional<int> slot_of(const Panel& panel, const std::vector<int>& slots, const std::string& name) {
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    if (panel.series[i].name == name) return slots[i];
  }
  return std::nullopt;
}

std::vector<std::vector<double>> stacked_tops(const Panel& panel) {
  std::vector<std::vector<double>> tops(panel.series.size());
  std::vector<double> sum;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const Series& series = panel.series[i];
    if (!is_area(series)) continue;
    sum.resize(series.y.size(), 0.0);
    for (std::size_t at = 0; at < sum.size(); ++at) {
      if (can_show(series.y[at], ScaleKind::linear)) sum[at] += series.y[at];
    }
    tops[i] = sum;
  }
  return tops;
}

void draw_bands(Svg& svg, const Plot& plot) {
  for (const Band& band : plot.panel->bands) {
    if (std::isnan(band.from) || std::isnan(band.to)) continue;
    bool along_x = band.along == Along::x;
    double low = along_x ? plot.box.x : plot.box.y, high = along_x ? plot.box.right() : plot.box.bottom();
    double a = along_x ? plot.x(band.from) : plot.y(band.from), b = along_x ? plot.x(band.to) : plot.y(band.to);
    double from = std::clamp(std::min(a, b), low, high), to = std::clamp(std::max(a, b), low, high);
    if (to - from < 0.5) continue;
    Box box =
        along_x ? Box{from, plot.box.y, to - from, plot.box.height} : Box{plot.box.x, from, plot.box.width, to - from};
    svg.rect(box, "fill=\"#f4f4f4\"");
    svg.rect(box, hatch_fill(), band.label);
    bool open_from = from > low, open_to = to < high;
    const char* edge = "stroke=\"#707070\" stroke-width=\"1\"";
    if (along_x && open_from) svg.line({from, box.y}, {from, box.bottom()}, edge);
    if (along_x && open_to) svg.line({to, box.y}, {to, box.bottom()}, edge);
    if (!along_x && open_from) svg.line({box.x, from}, {box.right(), from}, edge);
    if (!along_x && open_to) svg.line({box.x, to}, {box.right(), to}, edge);
  }
}

namespace {

/// The text of a cell. Plain numbers have the same decimals in all cells, as many as the largest needs for three
/// digits.
std::string cell_text(const HeatMap& map, double low, double high, double value) {
  double largest = std::max(std::fabs(low), std::fabs(high));
  if (map.unit != Unit::number || largest < 1e-3 || largest >= 1e7) return value_text(value, map.unit);
  return decimal_text(value, std::clamp(2 - static_cast<int>(std::floor(std::log10(largest))), 0, 5));
}

}  // namespace

void draw_cells(Svg& svg, const Plot& plot) {
  const HeatMap& map = *plot.panel->heat_map;
  auto [low, high] = heat_range(map);
  double width = plot.box.width / static_cast<double>(std::max<std::size_t>(1, map.columns.size()));
  double height = plot.box.height / static_cast<double>(std::max<std::size_t>(1, map.rows.size()));
  double size = std::clamp(std::min(width, height) * 0.4, 8.0, 12.0);
  double widest = 0;  // at a size of 1
  for (double value : map.values) {
    if (can_show(value, ScaleKind::linear)) widest = std::max(widest, text_width(cell_text(map, low, high, value), 1));
  }
  if (widest > 0) size = std::min(size, (width - 6) / widest);
  bool texts = map.show_values && size >= 8.5 && size + 4 <= height;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      double value = map.values[row * map.columns.size() + column];
      Box box{plot.box.x + static_cast<double>(column) * width, plot.box.y + static_cast<double>(row) * height, width,
              height};
      std::string tooltip = fmt::format("{}, {}: {}", map.rows[row], map.columns[column], value_text(value, map.unit));
      bool shown = can_show(value, ScaleKind::linear);
      std::string colour = shown ? cell_colour(map, low, high, value) : "#ffffff";
      if (!shown) svg.rect(box, "fill=\"#f4f4f4\"");
      std::string fill = shown ? fmt::format("fill=\"{}\"", colour) : hatch_fill();
      svg.rect(box, fill + " stroke=\"#ffffff\" stroke-width=\"1\"", tooltip);
      if (!texts || !shown) continue;
      svg.text({box.x + width / 2, box.y + height / 2 + size * 0.35}, cell_text(map, low, high, value),
               {.size = size, .anchor = Anchor::middle, .colour = ink_on(colour)});
    }
  }
}

}  // namespace reprise::chart
