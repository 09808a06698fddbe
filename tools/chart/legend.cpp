#include "tools/chart/legend.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/chart/text.h"

namespace reprise::chart {
namespace {

constexpr double kLegendText = 12, kLine = 15, kSample = 36, kGap = 8, kBetween = 5, kApart = 22;

void add_series(Legend& legend, const Plot& plot, std::size_t at) {
  const Series& series = plot.panel->series[at];
  if (series.name.empty()) return;
  bool area = is_area(series);
  auto same = std::find_if(legend.entries.begin(), legend.entries.end(),
                           [&](const LegendEntry& entry) { return entry.name == series.name && entry.area == area; });
  if (same == legend.entries.end()) {
    legend.entries.emplace_back();
    same = legend.entries.end() - 1;
    same->name = series.name;
    same->slot = plot.slots[at];
    if (!area) same->style = plot.style(at);
  }
  if (area) {
    same->area = true;
  } else if (series.kind == SeriesKind::points) {
    same->shape = true;
  } else {
    if (!same->line) same->style = plot.style(at);
    same->line = true;
    same->shape = same->shape || series.marked;
  }
}

void draw_line_sample(Svg& svg, const LegendEntry& entry, Place at) {
  bool white = std::string_view(entry.style.colour) == "#ffffff";
  std::string dash = *entry.style.dash ? fmt::format(" stroke-dasharray=\"{}\"", entry.style.dash) : "";
  if (white) {
    svg.line(at, {at.x + kSample, at.y},
             fmt::format("stroke=\"#000000\" stroke-width=\"{}\"", number(entry.style.width + 1.4)));
  }
  svg.line(at, {at.x + kSample, at.y},
           fmt::format("stroke=\"{}\" stroke-width=\"{}\"{}", entry.style.colour, number(entry.style.width), dash));
}

/// `at` is the middle of the sample's left edge.
void draw_sample(Svg& svg, const LegendEntry& entry, Place at) {
  Box box{at.x + 4, at.y - 6, kSample - 8, 12};
  if (entry.area) {
    svg.rect(box, area_fill(entry.slot));
  } else if (entry.hatch) {
    svg.rect(box, "fill=\"#f4f4f4\"");
    svg.rect(box, hatch_fill() + " stroke=\"#707070\" stroke-width=\"0.7\"");
  } else if (entry.rule) {
    svg.line(at, {at.x + kSample, at.y}, "stroke=\"#333333\" stroke-width=\"1.2\" stroke-dasharray=\"7 3 1.5 3\"");
  }
  if (entry.line) draw_line_sample(svg, entry, at);
  if (entry.shape) {
    bool white = std::string_view(entry.style.colour) == "#ffffff";
    svg.path(
        shape_path(entry.style.shape, {at.x + kSample / 2, at.y}, 4.8),
        fmt::format("fill=\"{}\" stroke=\"{}\" stroke-width=\"1\"", entry.style.colour, white ? "#000000" : "#ffffff"));
  }
}

std::vector<std::string> lines_of(const LegendEntry& entry, double most) {
  return wrap_text(entry.name, kLegendText, std::max(20.0, most - kSample - kGap));
}

/// One entry with its sample at the left; the height it took.
double draw_entry(Svg& svg, const LegendEntry& entry, Place at, double most) {
  std::vector<std::string> lines = lines_of(entry, most);
  draw_sample(svg, entry, {at.x, at.y + kLine / 2});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    svg.text({at.x + kSample + kGap, at.y + kLine * static_cast<double>(i) + 11.5}, lines[i], {.size = kLegendText});
  }
  return kLine * static_cast<double>(lines.size());
}

/// Where each entry of the rows lies, and the height of them all.
struct Rows {
  std::vector<Place> at;
  double height = 0;
};

Rows rows_of(const Legend& legend, double width) {
  Rows rows;
  double x = 0, tallest = 0;
  for (const LegendEntry& entry : legend.entries) {
    std::vector<std::string> lines = lines_of(entry, width);
    double needed = kSample + kGap + widest_text(lines, kLegendText);
    if (x > 0 && x + needed > width) {
      rows.height += tallest + kBetween;
      x = tallest = 0;
    }
    rows.at.push_back({x, rows.height});
    tallest = std::max(tallest, kLine * static_cast<double>(lines.size()));
    x += needed + kApart;
  }
  rows.height += tallest;
  return rows;
}

constexpr double kNoteText = 11, kNoteLine = 14;

double draw_note(Svg& svg, const std::string& note, Place at, double width) {
  double y = at.y;
  for (const std::string& line : wrap_text(note, kNoteText, width)) {
    svg.text({at.x, y + 11}, line, {.size = kNoteText, .colour = "#555555"});
    y += kNoteLine;
  }
  return y - at.y;
}

}  // namespace

Legend legend_of(const Plot& plot) {
  const Panel& panel = *plot.panel;
  Legend legend;
  legend.note = panel.note;
  for (std::size_t i = panel.series.size(); i-- > 0;) {
    if (is_area(panel.series[i])) add_series(legend, plot, i);
  }
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    if (!is_area(panel.series[i])) add_series(legend, plot, i);
  }
  auto add_named = [&](const std::string& name, bool LegendEntry::*what) {
    if (name.empty()) return;
    for (const LegendEntry& entry : legend.entries) {
      if (entry.name == name && entry.*what) return;
    }
    LegendEntry& entry = legend.entries.emplace_back();
    entry.name = name;
    entry.*what = true;
  };
  for (const Band& band : panel.bands) {
    if (band.along == Along::y) add_named(band.label, &LegendEntry::hatch);
  }
  for (const Rule& rule : panel.rules) {
    if (rule.along == Along::y) add_named(rule.label, &LegendEntry::rule);
  }
  if (!panel.lanes.empty()) add_named(panel.lanes_label, &LegendEntry::hatch);
  bool named_by_axis = legend.entries.size() == 1 && legend.entries[0].name == panel.y.label;
  if (named_by_axis) legend.entries.clear();
  return legend;
}

Size legend_column_size(const Legend& legend, double most) {
  Size size;
  for (const LegendEntry& entry : legend.entries) {
    std::vector<std::string> lines = lines_of(entry, most);
    size.width = std::max(size.width, kSample + kGap + widest_text(lines, kLegendText));
    size.height += kLine * static_cast<double>(lines.size()) + kBetween;
  }
  std::vector<std::string> note = wrap_text(legend.note, kNoteText, most);
  size.width = std::max(size.width, widest_text(note, kNoteText));
  if (!note.empty()) size.height += 6 + kNoteLine * static_cast<double>(note.size());
  return size;
}

void draw_legend_column(Svg& svg, const Legend& legend, Place at, double most) {
  for (const LegendEntry& entry : legend.entries) at.y += draw_entry(svg, entry, at, most) + kBetween;
  if (!legend.note.empty()) draw_note(svg, legend.note, {at.x, at.y + 6}, most);
}

double legend_rows_height(const Legend& legend, double width) {
  double note = kNoteLine * static_cast<double>(wrap_text(legend.note, kNoteText, width).size());
  return rows_of(legend, width).height + (note > 0 ? 6 + note : 0);
}

void draw_legend_rows(Svg& svg, const Legend& legend, Place at, double width) {
  Rows rows = rows_of(legend, width);
  for (std::size_t i = 0; i < legend.entries.size(); ++i) {
    draw_entry(svg, legend.entries[i], {at.x + rows.at[i].x, at.y + rows.at[i].y}, width - rows.at[i].x);
  }
  draw_note(svg, legend.note, {at.x, at.y + rows.height + 6}, width);
}

}  // namespace reprise::chart
