#include "tools/chart/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

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
                (series.high.empty() || series.high.size() == length) &&
                (series.texts.empty() || series.texts.size() == length) &&
                (series.marks.empty() || series.marks.size() == length);
    if (is_area(series)) same = same && shared.value_or(length) == length;
    if (is_area(series)) shared = length;
    if (!same) {
      fail(ErrorKind::internal,
           "[chart] series \"{}\": expected lists of one length, got x {}, y {}, low {}, high {}, texts {}, marks {}",
           series.name, series.x.size(), length, series.low.size(), series.high.size(), series.texts.size(),
           series.marks.size());
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

/// Takes the legends of all panels for one that stands below them.
Legend shared_legend(std::vector<PanelLayout>& panels) {
  Legend shared;
  for (PanelLayout& panel : panels) {
    Legend own = std::exchange(panel.legend, Legend{});
    for (LegendEntry& entry : own.entries) {
      bool known = std::any_of(shared.entries.begin(), shared.entries.end(), [&](const LegendEntry& other) {
        return other.name == entry.name && other.area == entry.area;
      });
      if (!known) shared.entries.push_back(std::move(entry));
    }
    if (shared.note.empty()) shared.note = own.note;
  }
  return shared;
}

std::vector<PanelLayout> place_panels(const Chart& chart, Legend& shared) {
  std::vector<PanelLayout> panels;
  double left = 0, right = 14;
  for (const Panel& panel : chart.panels) {
    panels.push_back(measure_sides(panel));
    left = std::max(left, panels.back().left);
  }
  if (chart.one_legend) shared = shared_legend(panels);
  bool legend_right = legends_right(chart, panels);
  for (const PanelLayout& panel : panels) right = std::max(right, right_needed(panel, legend_right, kLegendMost));
  // Half of the last number on the x axis reaches beyond the plot.
  int columns = std::max(1, chart.columns);
  double cell = chart.width / columns, width = std::max(60.0, cell - 2 * kMargin - left - std::max(right, 24.0));
  for (std::size_t i = 0; i < panels.size(); ++i) {
    panels[i].begin = cell * static_cast<double>(i % static_cast<std::size_t>(columns));
    measure_plot(panels[i], panels[i].begin + kMargin + left, width, panels[i].begin + cell, legend_right);
  }
  return panels;
}

/// Row by row, the plots of a row in line; where they end.
double draw_panels(Svg& svg, std::vector<PanelLayout>& panels, std::size_t columns, double cell, double y) {
  for (std::size_t first = 0; first < panels.size(); first += columns) {
    std::size_t end = std::min(first + columns, panels.size());
    double above = 0, rest = 0;
    for (std::size_t i = first; i < end; ++i) {
      above = std::max(above, panels[i].above);
      rest = std::max(rest, panels[i].plot.box.height + panels[i].below);
    }
    for (std::size_t i = first; i < end; ++i)
      draw_panel(svg, panels[i], y + above - panels[i].above, panels[i].begin + cell);
    y += above + rest + kBetweenPanels;
  }
  return y;
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

void check_picture_name(const std::string& path, const char* who) {
  for (const char* end : {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"}) {
    if (!path.ends_with(end)) continue;
    fail(ErrorKind::user, "[{}] expected a name that ends in .svg, since the picture is SVG, got {}", who, path);
  }
}

std::string to_svg(const Chart& chart) {
  check(chart);
  Legend shared;
  std::vector<PanelLayout> panels = place_panels(chart, shared);
  Svg svg;
  double y = draw_lines(svg, chart.title, 6, chart.width, 23, {.size = kTitle, .colour = "#111111", .bold = true});
  y = draw_lines(svg, chart.subtitle, y + 1, chart.width, 18, {.size = kSubtitle, .colour = "#555555"});
  y += 14;
  auto columns = static_cast<std::size_t>(std::max(1, chart.columns));
  y = draw_panels(svg, panels, columns, chart.width / static_cast<double>(columns), y);
  if (!shared.empty()) {
    draw_legend_rows(svg, shared, {kMargin, y - 10}, chart.width - 2 * kMargin);
    y += legend_rows_height(shared, chart.width - 2 * kMargin) + 8;
  }
  y = draw_lines(svg, chart.footnote, y - 8, chart.width, 16, {.size = kFootnote, .colour = "#555555"});
  std::string width = number(chart.width), height = number(y + 8);
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n"
             "<title>{2}</title>\n",
             width, height, escape_xml(chart.title)) +
         pattern_definitions() + fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", width, height) +
         svg.markup() + "</svg>\n";
}

}  // namespace reprise::chart
