#include "tools/chart/layout.h"

#include <algorithm>
#include <cmath>

#include "tools/chart/heat_map.h"
#include "tools/chart/text.h"

namespace reprise::chart {
namespace {

constexpr double kTickText = 11, kFlagText = 11, kRowNamesMost = 240, kLaneNamesMost = 130;

struct Range {
  double low = HUGE_VAL, high = -HUGE_VAL;
  void include(double value, ScaleKind scale) {
    if (!can_show(value, scale)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Range x_range(const Panel& panel) {
  Range range;
  for (const Series& series : panel.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (is_area(series) || can_show(series.y[i], panel.y.scale)) range.include(series.x[i], panel.x.scale);
    }
    if (!series.across) continue;
    for (double value : series.low) range.include(value, panel.x.scale);
    for (double value : series.high) range.include(value, panel.x.scale);
  }
  for (const Band& band : panel.bands) {
    if (band.along != Along::x) continue;
    range.include(band.from, panel.x.scale);
    range.include(band.to, panel.x.scale);
  }
  for (const Rule& rule : panel.rules) {
    if (rule.along == Along::x) range.include(rule.at, panel.x.scale);
  }
  for (const Lane& lane : panel.lanes) {
    for (const auto& [from, to] : lane.ranges) {
      range.include(from, panel.x.scale);
      range.include(to, panel.x.scale);
    }
  }
  return range;
}

Range y_range(const Panel& panel) {
  Range range;
  std::vector<std::vector<double>> tops = stacked_tops(panel);
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const Series& series = panel.series[i];
    for (double value : is_area(series) ? tops[i] : series.y) range.include(value, panel.y.scale);
    if (is_area(series)) range.include(0, panel.y.scale);
    for (double value : series.marks) range.include(value, panel.y.scale);
    if (series.across) continue;
    for (double value : series.low) range.include(value, panel.y.scale);
    for (double value : series.high) range.include(value, panel.y.scale);
  }
  for (const Band& band : panel.bands) {
    if (band.along != Along::y) continue;
    range.include(band.from, panel.y.scale);
    range.include(band.to, panel.y.scale);
  }
  for (const Rule& rule : panel.rules) {
    if (rule.along == Along::y) range.include(rule.at, panel.y.scale);
  }
  return range;
}

Range with_axis(Range range, const Axis& axis) {
  if (axis.zero) range.include(0, axis.scale);
  if (axis.low) range.low = *axis.low;
  if (axis.high) range.high = *axis.high;
  return range;
}

/// Ticks whose ends are where the axis says.
Ticks ticks_of(const Range& range, const Axis& axis, int most, bool covering) {
  Ticks ticks = make_ticks(range.low, range.high, axis.unit, axis.scale, most, covering && !axis.low && !axis.high);
  if (covering && axis.low.has_value() != axis.high.has_value()) {  // the free end moves out to a round number
    Ticks covered = make_ticks(range.low, range.high, axis.unit, axis.scale, most, true);
    double low = axis.low ? ticks.low : covered.low, high = axis.high ? ticks.high : covered.high;
    ticks = make_ticks(low, high, axis.unit, axis.scale, most, false);
  }
  return ticks;
}

/// As many ticks as have room for their text.
Ticks x_ticks_for(const Panel& panel, double width) {
  Range range = with_axis(x_range(panel), panel.x);
  bool areas = std::any_of(panel.series.begin(), panel.series.end(), is_area);
  if (!areas && range.low < range.high) {  // room for shapes at the ends
    bool log = panel.x.scale == ScaleKind::log;
    double room = panel.beside ? 0.05 : 0.015;
    double share = log ? std::pow(range.high / range.low, room) : room * (range.high - range.low);
    bool from_zero = range.low == 0 ? panel.x.zero : panel.beside && range.low > 0 && range.low < share;
    if (!panel.x.low) range.low = log ? range.low / share : from_zero ? 0 : range.low - share;
    if (!panel.x.high) range.high = log ? range.high * share : range.high + share;
  }
  for (int most = std::max(2, static_cast<int>(width / 64)); most > 2; --most) {
    Ticks ticks = ticks_of(range, panel.x, most, false);
    double needed = widest_text(ticks.text, kTickText) + 14;
    bool fits = true;
    Scale scale{ticks.low, ticks.high, 0, width, panel.x.scale};
    for (std::size_t i = 1; i < ticks.at.size(); ++i)
      fits = fits && scale(ticks.at[i]) - scale(ticks.at[i - 1]) >= needed;
    if (fits) return ticks;
  }
  return ticks_of(range, panel.x, 2, false);
}

std::vector<Flag> flags_of(const PanelLayout& layout) {
  std::vector<Flag> flags;
  const Box& box = layout.plot.box;
  auto add = [&](double x, const std::string& text) {
    if (text.empty() || x < box.x - 0.5 || x > box.right() + 0.5) return;
    std::string shown = shorten_text(text, kFlagText, box.width);
    flags.push_back({x, x, text_width(shown, kFlagText) + 8, 0, false, shown});
  };
  for (const Band& band : layout.panel->bands) {
    if (band.along != Along::x || std::isnan(band.from) || std::isnan(band.to)) continue;
    double a = layout.plot.x(std::min(band.from, band.to)), b = layout.plot.x(std::max(band.from, band.to));
    if (b >= box.x && a <= box.right() && b - a >= 0.5) add(std::max(a, box.x), band.label);
  }
  for (const Rule& rule : layout.panel->rules) {
    if (rule.along == Along::x && can_show(rule.at, layout.panel->x.scale)) add(layout.plot.x(rule.at), rule.label);
  }
  return flags;
}

bool overlap(const Flag& a, const Flag& b) { return a.left < b.left + b.width && b.left < a.left + a.width; }

/// Whether the line of `other`, which rises to its own row, crosses the text of `flag`.
bool crosses(const Flag& other, const Flag& flag) {
  return other.row > flag.row && other.x > flag.left && other.x < flag.left + flag.width;
}

/// The lowest row in which flag `at` touches none of the flags placed before it.
void raise_flag(std::vector<Flag>& flags, std::size_t at, const std::vector<std::size_t>& placed) {
  auto clashes = [&](std::size_t k) {
    const Flag &flag = flags[at], &other = flags[k];
    return (other.row == flag.row && overlap(flag, other)) || crosses(other, flag);
  };
  while (std::any_of(placed.begin(), placed.end(), clashes)) ++flags[at].row;
}

/// A flag stands at the right of its line, or at the left where the picture ends too soon. Those that stand right are
/// given rows from the right to the left, the others from the left to the right: so the lines of neighbours, which are
/// placed before in lower rows, lie behind a flag's own line and never cross its text.
void place_flags(std::vector<Flag>& flags, double right_end) {
  std::stable_sort(flags.begin(), flags.end(), [](const Flag& a, const Flag& b) { return a.x > b.x; });
  double leaning_to = HUGE_VAL;  // the left end of the texts that stand left
  std::vector<std::size_t> placed;
  std::size_t left_standing = 0;
  for (Flag& flag : flags) {
    bool leans = flag.x + flag.width > right_end || flag.x > leaning_to;
    if (!leans || flag.x - flag.width < 0) break;
    flag.left = flag.x - flag.width;
    flag.leans = true;
    leaning_to = std::min(leaning_to, flag.left);
    ++left_standing;
  }
  for (std::size_t i = left_standing; i-- > 0;) {
    raise_flag(flags, i, placed);
    placed.push_back(i);
  }
  for (std::size_t i = left_standing; i < flags.size(); ++i) {
    flags[i].left = std::min(flags[i].x, right_end - flags[i].width);
    raise_flag(flags, i, placed);
    placed.push_back(i);
  }
}

double left_of_heat_map(const HeatMap& map) { return std::min(widest_text(map.rows, kTickText), kRowNamesMost) + 10; }

/// Names stand in the middle of equal parts, the first at the top.
Ticks named_ticks(const std::vector<std::string>& names) {
  Ticks ticks{-0.5, static_cast<double>(names.size()) - 0.5, {}, {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    ticks.at.push_back(static_cast<double>(i));
    ticks.text.push_back(shorten_text(names[i], kTickText, kRowNamesMost));
  }
  return ticks;
}

double names_below(const PanelLayout& layout) {
  const Panel& panel = *layout.panel;
  if (!panel.heat_map) return 18;
  double cell = layout.plot.box.width / static_cast<double>(std::max<std::size_t>(1, panel.heat_map->columns.size()));
  double width = widest_text(panel.heat_map->columns, kTickText);
  return width + 6 <= cell ? 18 : std::min(width, 150.0) + 10;
}

}  // namespace

PanelLayout measure_sides(const Panel& panel) {
  PanelLayout layout;
  layout.panel = &panel;
  layout.plot.panel = &panel;
  layout.plot.slots = series_slots(panel);
  layout.plot.has_areas = std::any_of(panel.series.begin(), panel.series.end(), is_area);
  layout.plot.box.height = std::max(panel.height, 40.0);
  layout.legend = legend_of(layout.plot);
  double label = 16 * static_cast<double>(wrap_text(panel.y.label, 12, layout.plot.box.height).size());
  if (panel.heat_map) {
    layout.numbers = left_of_heat_map(*panel.heat_map);
  } else {
    int most = std::clamp(static_cast<int>(layout.plot.box.height / 30), 3, 9);
    bool named = !panel.y.names.empty();
    layout.y = named ? named_ticks(panel.y.names) : ticks_of(with_axis(y_range(panel), panel.y), panel.y, most, true);
    layout.numbers = widest_text(layout.y.text, kTickText) + 10;
    std::vector<std::string> lanes;
    for (const Lane& lane : panel.lanes) lanes.push_back(shorten_text(lane.name, kTickText, kLaneNamesMost));
    layout.left = widest_text(lanes, kTickText) + 10;
  }
  layout.left = std::max(layout.left, layout.numbers + label + (label > 0 ? 6 : 0));
  return layout;
}

double right_needed(const PanelLayout& layout, bool legend_right, double most) {
  double bar = layout.panel->heat_map ? colour_bar_width(*layout.panel->heat_map, layout.plot.box.height) + 16 : 0;
  double legend = legend_right && !layout.legend.empty() ? legend_column_size(layout.legend, most).width + 18 : 0;
  return bar + legend;
}

void measure_plot(PanelLayout& layout, double left, double width, double full, bool legend_right) {
  const Panel& panel = *layout.panel;
  Box& box = layout.plot.box;
  box.x = left;
  box.width = width;
  layout.legend_right = legend_right;
  if (panel.heat_map) {
    double columns = static_cast<double>(panel.heat_map->columns.size());
    double rows = static_cast<double>(panel.heat_map->rows.size());
    layout.plot.x = {-0.5, std::max(columns, 1.0) - 0.5, box.x, box.right()};
    layout.plot.y = {-0.5, std::max(rows, 1.0) - 0.5, 0, box.height};
  } else {
    layout.x = x_ticks_for(panel, width);
    layout.plot.x = {layout.x.low, layout.x.high, box.x, box.right(), panel.x.scale};
    layout.plot.y = {layout.y.low, layout.y.high, box.height, 0, panel.y.scale};
    if (!panel.y.names.empty()) layout.plot.y = {layout.y.low, layout.y.high, 0, box.height};
    layout.flags = flags_of(layout);
    place_flags(layout.flags, full - kMargin / 2);
  }
  int rows = 0;
  for (const Flag& flag : layout.flags) rows = std::max(rows, flag.row + 1);
  double title = 19 * static_cast<double>(wrap_text(panel.title, 14, full - left - kMargin).size());
  layout.above = title + (title > 0 ? 5 : 0) + 15 * rows + (rows > 0 ? 6 : 0);
  layout.below = lanes_height(panel) + names_below(layout);
  layout.below += 16 * static_cast<double>(wrap_text(panel.x.label, 12, width).size());
  if (!legend_right && !layout.legend.empty()) {
    layout.below += 12 + legend_rows_height(layout.legend, full - layout.begin - 2 * kMargin);
  }
  if (legend_right && !layout.legend.empty()) {  // a long column reaches below the plot
    double column = legend_column_size(layout.legend, kLegendMost).height;
    layout.below = std::max(layout.below, column - box.height);
  }
}

}  // namespace reprise::chart
