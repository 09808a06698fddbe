#include "tools/chart/plot.h"

#include <algorithm>
#include <cmath>
#include <map>

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

}  // namespace reprise::chart
