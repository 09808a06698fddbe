#include "tools/chart/chart.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "tools/chart/layout.h"
#include "tools/chart/text.h"

namespace reprise::chart {
namespace {

constexpr double kTitle = 18, kSubtitle = 13, kFootnote = 11.5, kBetweenPanels = 26;

void check_series(const Panel& panel) {
  std::optional<std::size_t> shared;
  for (const Series& series : panel.series) {
    std::size_t length = series.y.size();
    bool same = series.x.size() == length && (series.low.empty() || series.low.size() == length) &&
                (series.high.empty() || series.high.size() == length);
    if (is_area(series)) same = same && shared.value_or(length) == length;
    if (is_area(series)) shared = length;
    if (!same) {
      fail(ErrorKind::internal, "[chart] series \"{}\": expected lists of one length, got x {}, y {}, low {}, high {}",
           series.name, series.x.size(), length, series.low.size(), series.high.size());
    }
  }
}

void check(const Chart& chart) {
  for (const Panel& panel : chart.panels) {
    check_series(panel);
    if (!panel.heat_map) continue;
    const HeatMap& map = *panel.heat_map;
    if (map.values.size() != map.rows.size() * map.columns.size()) {
      fail(ErrorKind::internal, "[chart] heat map: expected {} x {} values, got {}", map.rows.size(),
           map.columns.size(), map.values.size());
    }
  }
}

/// Legends of all panels at the right unless that takes more than a third of the width.
bool legends_right(const Chart& chart, const std::vector<PanelLayout>& panels) {
  if (chart.legend != LegendPlace::automatic) return chart.legend == LegendPlace::right;
  double widest = 0;
  for (const PanelLayout& panel : panels) widest = std::max(widest, right_needed(panel, true, kLegendMost));
  return widest <= chart.width / 3;
}

std::vector<PanelLayout> place_panels(const Chart& chart) {
  std::vector<PanelLayout> panels;
  double left = 0, right = 14;
  for (const Panel& panel : chart.panels) {
    panels.push_back(measure_sides(panel));
    left = std::max(left, panels.back().left);
  }
  bool legend_right = legends_right(chart, panels);
  for (const PanelLayout& panel : panels) right = std::max(right, right_needed(panel, legend_right, kLegendMost));
  // Half of the last number on the x axis reaches beyond the plot.
  double width = std::max(60.0, chart.width - 2 * kMargin - left - std::max(right, 24.0));
  for (PanelLayout& panel : panels) measure_plot(panel, kMargin + left, width, chart.width, legend_right);
  return panels;
}

/// Lines from y on; where they end.
double draw_lines(Svg& svg, const std::string& text, double y, double width, double line, const TextStyle& style) {
  for (const std::string& words : wrap_text(text, style.size, width - 2 * kMargin)) {
    y += line;
    svg.text({kMargin, y}, words, style);
  }
  return y;
}

}  // namespace

std::string to_svg(const Chart& chart) {
  check(chart);
  std::vector<PanelLayout> panels = place_panels(chart);
  Svg svg;
  double y = draw_lines(svg, chart.title, 6, chart.width, 23, {.size = kTitle, .colour = "#111111", .bold = true});
  y = draw_lines(svg, chart.subtitle, y + 1, chart.width, 18, {.size = kSubtitle, .colour = "#555555"});
  y += 14;
  for (PanelLayout& panel : panels) {
    draw_panel(svg, panel, y, chart.width);
    y += panel.above + panel.plot.box.height + panel.below + kBetweenPanels;
  }
  y = draw_lines(svg, chart.footnote, y - 8, chart.width, 16, {.size = kFootnote, .colour = "#555555"});
  std::string width = number(chart.width), height = number(y + 8);
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "role=\"img\" "
             "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n"
             "<title>{2}</title>\n",
             width, height, escape_xml(chart.title)) +
         pattern_definitions() + fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", width, height) +
         svg.markup() + "</svg>\n";
}

}  // namespace reprise::chart
