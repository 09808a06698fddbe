// The map: where preserving by region pays off, over the size of the table and the share of it that is written.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/chart/chart.h"
#include "tools/chart/ticks.h"
#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

/// "1/16", "4", "0.3".
std::string ratio_name(double ratio) {
  double inverse = 1 / ratio;
  if (ratio < 1 && std::fabs(inverse - std::round(inverse)) < 1e-9) return fmt::format("1/{:g}", std::round(inverse));
  return fmt::format("{:g}", ratio);
}

std::string share_name(double share) { return fmt::format("{:g} %", 100 * share); }

/// The grid of all planned cells, measured or not.
struct Grid {
  std::vector<double> ratios, shares;  // rising
  std::size_t row(double ratio) const {
    return static_cast<std::size_t>(std::find(ratios.begin(), ratios.end(), ratio) - ratios.begin());
  }
  std::size_t column(double share) const {
    return static_cast<std::size_t>(std::find(shares.begin(), shares.end(), share) - shares.begin());
  }
};

Grid grid_of(const Study& study) {
  std::set<double> ratios, shares;
  for (const study::Record& record : study.records) {
    if (record.kind != "map" && record.kind != "map_measured") continue;
    double ratio = number_in(record.json, "table_ratio"), share = number_in(record.json, "written_share");
    if (std::isfinite(ratio) && ratio > 0) ratios.insert(ratio);
    if (std::isfinite(share)) shares.insert(share);
  }
  return {{ratios.begin(), ratios.end()}, {shares.begin(), shares.end()}};
}

/// field[method] : field[reference] of each planned cell.
chart::HeatMap heat_map_of(const Study& study, const Grid& grid, const char* field, const char* method,
                           const char* reference) {
  chart::HeatMap map;
  for (double ratio : grid.ratios) map.rows.push_back(ratio_name(ratio));
  for (double share : grid.shares) map.columns.push_back(share_name(share));
  map.values.assign(map.rows.size() * map.columns.size(), Measured::kNone);
  for (const study::Record& record : study.records) {
    if (record.kind != "map" || !record.ok()) continue;
    std::size_t row = grid.row(number_in(record.json, "table_ratio")),
                column = grid.column(number_in(record.json, "written_share"));
    if (row >= map.rows.size() || column >= map.columns.size()) continue;
    const Json& values = record.json[field];
    map.values[row * map.columns.size() + column] = number_in(values, method) / number_in(values, reference);
  }
  map.label = fmt::format("planned {} : {}", method, reference);
  map.high = 1;
  return map;
}

chart::Panel panel_of(const Grid& grid, chart::HeatMap map) {
  chart::Panel panel;
  panel.x.label = "share of the table's rows that a segment writes";
  panel.y.label = "size of the table : activations";
  panel.height = 46 * static_cast<double>(std::max<std::size_t>(grid.ratios.size(), 1));
  panel.heat_map = std::move(map);
  return panel;
}

/// The measured ratio in its cell, as a shape and a number.
void add_measured(chart::Panel& panel, const Grid& grid, const std::vector<Place>& places, const char* reference) {
  chart::Series series;
  series.kind = chart::SeriesKind::points;
  series.name = "measured (bold); the other number of a cell is what the planner predicted";
  for (const Place& place : places) {
    Ratio ratio = ratio_of(place, "joint", reference);
    if (ratio.wall.n == 0) continue;
    series.x.push_back(static_cast<double>(grid.column(place.written_share)) - 0.28);
    series.y.push_back(static_cast<double>(grid.row(place.table_ratio)) + 0.22);
    series.texts.push_back(chart::decimal_text(ratio.wall.geometric_mean, 2));
  }
  series.slot = 6;  // black
  if (!series.x.empty()) panel.series.push_back(std::move(series));
}

void draw(Document& document, const Study& study, const Grid& grid, const std::vector<Place>& places) {
  chart::Chart picture;
  picture.title = "Where selective preservation pays off";
  picture.subtitle =
      "step time of the joint plan over that of a plan without it, each cell at one budget for all methods";
  picture.one_legend = true;
  for (const char* reference : {"retain+whole", "region"}) {
    chart::Panel panel = panel_of(grid, heat_map_of(study, grid, "predicted_s", "joint", reference));
    panel.title = std::string("joint : ") + reference;
    panel.heat_map->label = "ratio of step times";
    add_measured(panel, grid, places, reference);
    picture.panels.push_back(std::move(panel));
  }
  document.figure(
      "map", chart::to_svg(picture),
      "Ratio of step times over the size of the table and the share that is written; less is faster. Colours "
      "and upper numbers: planned; shapes with bold numbers: measured. A hatched cell has no plan.");
  chart::Chart bytes;
  bytes.title = "How much smaller a budget can be";
  bytes.subtitle = "smallest budget at which there is a plan, planned";
  chart::Panel panel = panel_of(grid, heat_map_of(study, grid, "smallest_feasible", "region", "retain+whole"));
  panel.title = "region : retain+whole";
  panel.heat_map->label = "ratio of smallest budgets";
  panel.heat_map->high.reset();
  bytes.panels.push_back(std::move(panel));
  document.figure(
      "map-budgets", chart::to_svg(bytes),
      "Smallest feasible budget of region over that of retain+whole; below 1 region can do with less memory.");
}

/// With everything written there is nothing to select: what region needs then, against whole copies.
std::string all_written_text(const Study& study) {
  double low = Measured::kNone, high = Measured::kNone;
  for (const study::Record& record : study.records) {
    if (record.kind != "map" || !record.ok() || number_in(record.json, "written_share") != 1) continue;
    const Json& smallest = record.json["smallest_feasible"];
    double ratio = number_in(smallest, "region") / number_in(smallest, "retain+whole");
    low = std::fmin(low, ratio);
    high = std::fmax(high, ratio);
  }
  if (!std::isfinite(low) || !std::isfinite(high)) return "";
  return fmt::format("Where all rows are written, the smallest budget of region is {} to {} of that of retain+whole.",
                     ratio_text(low), ratio_text(high));
}

void add_table(Document& document, const std::vector<Place>& places) {
  Table table{
      "Measured cells: geometric mean of paired ratios of step time, 97.5 % bootstrap interval, and what the planner "
      "predicted",
      {{"table : activations", false},
       {"written"},
       {"budget"},
       {"over", false},
       {"pairs"},
       {"un-paired"},
       {"failed"},
       {"joint, measured"},
       {"interval"},
       {"joint, predicted"}},
      {},
      {}};
  for (const Place& place : places) {
    std::int64_t failed = 0;
    for (const auto& [method, measured] : place.methods) failed += measured.failed;
    for (const char* reference : {"retain+whole", "region"}) {
      Ratio ratio = ratio_of(place, "joint", reference);
      table.rows.push_back({ratio_name(place.table_ratio), share_name(place.written_share),
                            bytes_text(place.budget_bytes), reference, count_text(ratio.wall.n),
                            count_text(ratio.unpaired), count_text(failed), ratio_text(ratio.wall.geometric_mean),
                            interval_text(ratio.wall.bootstrap), ratio_text(ratio.predicted)});
    }
  }
  if (!table.rows.empty()) document.table(std::move(table));
}

/// Where most is gained, in time and in memory. Every cell has the budget that its neediest method takes at least, so a
/// cell may show its gain in memory alone.
void add_gains(const chart::HeatMap& times, const chart::HeatMap& budgets, std::int64_t planned, Findings& findings) {
  auto least_of = [](const chart::HeatMap& map) {
    auto at = std::min_element(map.values.begin(), map.values.end(),
                               [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
    return static_cast<std::size_t>(at - map.values.begin());
  };
  auto cell_text = [](const chart::HeatMap& map, std::size_t at) {
    return fmt::format("a table {} times as large as the activations of which {} is written",
                       map.rows[at / map.columns.size()], map.columns[at % map.columns.size()]);
  };
  std::size_t time = least_of(times), budget = least_of(budgets);
  if (time >= times.values.size() || std::isnan(times.values[time])) return;
  std::string text = fmt::format(
      "The map: of {}, the joint plan gains most over retain+whole with {}: planned ratio {}.",
      counted(planned, "planned cell", "planned cells"), cell_text(times, time), ratio_text(times.values[time]));
  auto none = std::count_if(times.values.begin(), times.values.end(), [](double ratio) { return ratio > 0.999; });
  if (none > 0) {
    text += fmt::format(
        " In {} the planned ratio is above 0.999: at the budget of the cell nothing but memory can be "
        "gained there.",
        counted(none, "cell", "cells"));
  }
  if (std::isfinite(budgets.values[budget])) {
    text += fmt::format(" Region's smallest budget is down to {} of that of retain+whole, with {}.",
                        ratio_text(budgets.values[budget]), cell_text(budgets, budget));
  }
  findings.push_back(std::move(text));
}

}  // namespace

void add_map(Document& document, const Study& study, Findings& findings) {
  Grid grid = grid_of(study);
  if (grid.ratios.empty() || grid.shares.empty()) return;
  std::vector<Place> places = places_of(study, "map_measured");
  document.heading(2, "The map");
  std::int64_t planned = 0, without = 0;
  for (const study::Record& record : study.records) {
    if (record.kind == "map") ++(record.ok() ? planned : without);
  }
  std::string text = counted(planned, "cell", "cells") + " planned, " +
                     count_text(static_cast<std::int64_t>(places.size())) + " of them measured";
  if (without > 0) text += ", " + counted(without, "cell", "cells") + " without plans";
  document.text(text + ".");
  draw(document, study, grid, places);
  if (std::string written = all_written_text(study); !written.empty()) document.text(std::move(written));
  add_table(document, places);
  add_gains(heat_map_of(study, grid, "predicted_s", "joint", "retain+whole"),
            heat_map_of(study, grid, "smallest_feasible", "region", "retain+whole"), planned, findings);
}

}  // namespace reprise::report
