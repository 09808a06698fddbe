// The frozen workloads: paired ratios with intervals, step time against memory, equal bytes.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "tools/chart/chart.h"
#include "tools/report/pictures.h"
#include "tools/report/sections.h"
#include "tools/report/targets.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

bool measured(const Place& place, const std::string& method) {
  auto found = place.methods.find(method);
  return found != place.methods.end() && !found->second.wall.empty();
}

/// One of a ladder of budgets, which is drawn in a picture of its own.
bool is_rung(const Place& place) { return place.budget.starts_with("ladder"); }

/// What the methods of a place are compared with.
std::string reference_of(const Place& place) {
  for (const char* method : {"retain+whole", "region", "whole"}) {
    if (measured(place, method)) return method;
  }
  return "";
}

std::vector<std::string> names_in(const Place& place) { return methods_of({place}); }

/// Equal plans are told of: what is measured between them is the noise of the measurement.
std::string predicted_text(const Ratio& ratio) {
  return ratio_text(ratio.predicted) + (ratio.same_plan ? ", same plan" : "");
}

void add_ratio_row(Table& table, const Place& place, const std::string& method, const std::string& reference) {
  Ratio ratio = ratio_of(place, method, reference);
  table.rows.push_back({place.budget, bytes_text(place.budget_bytes), method, reference, count_text(ratio.wall.n),
                        count_text(ratio.unpaired), ratio_text(ratio.wall.geometric_mean),
                        interval_text(ratio.wall.bootstrap), interval_text(ratio.wall.log_t),
                        interval_text(ratio.wall.range), ratio_text(ratio.cpu.geometric_mean), predicted_text(ratio)});
}

void add_ratios(Document& document, const std::vector<Place>& places) {
  Table table{
      "Step time of a method over that of another, paired within blocks: geometric mean, 97.5 % intervals "
      "(bias-corrected bootstrap; log-t), range; the same for CPU time; what the planner predicted",
      {{"budget", false},
       {"bytes"},
       {"method", false},
       {"over", false},
       {"pairs"},
       {"un-paired"},
       {"ratio"},
       {"bootstrap"},
       {"log-t"},
       {"range"},
       {"CPU time"},
       {"predicted"}},
      {},
      {}};
  for (const Place& place : places) {
    std::string reference = reference_of(place);
    for (const std::string& method : names_in(place)) {
      if (!reference.empty() && method != reference && measured(place, method))
        add_ratio_row(table, place, method, reference);
    }
    bool second = reference != "region" && measured(place, "region") && measured(place, "joint");
    if (second) add_ratio_row(table, place, "joint", "region");
  }
  if (!table.rows.empty()) document.table(std::move(table));
}

std::string difference_text(double measured_bytes, double predicted) {
  double difference = measured_bytes - predicted;
  if (!std::isfinite(difference)) return "none";
  return difference == 0 ? "equal" : (difference > 0 ? "+" : "") + bytes_text(difference);
}

void add_times(Document& document, const std::vector<Place>& places) {
  Table table{
      "Time of a step and memory: median over processes of the median of their timed steps, its range, and CPU time; "
      "the highest peak of live bytes, how it differs from the predicted one, and the highest resident size of the "
      "process",
      {{"budget", false},
       {"bytes"},
       {"method", false},
       {"processes"},
       {"failed"},
       {"step"},
       {"range"},
       {"CPU time"},
       {"pre-dicted"},
       {"lower bound"},
       {"peak"},
       {"minus pre-dicted"},
       {"whole process"}},
      {},
      {}};
  for (const Place& place : places) {
    for (const std::string& method : names_in(place)) {
      const Measured& m = place.methods.at(method);
      std::vector<double> wall, cpu;
      for (const auto& [block, seconds] : m.wall) wall.push_back(seconds);
      for (const auto& [block, seconds] : m.cpu) cpu.push_back(seconds);
      study::Interval range = study::range(wall);
      bool none = m.infeasible > 0 && m.processes == 0 && m.failed == 0;
      table.rows.push_back(
          {place.budget, bytes_text(place.budget_bytes), method, none ? "infeasible" : count_text(m.processes),
           count_text(m.failed), wall.empty() ? "none" : seconds_text(study::median(wall)),
           range.defined() ? "[" + seconds_text(range.low) + ", " + seconds_text(range.high) + "]" : "",
           cpu.empty() ? "none" : seconds_text(study::median(cpu)), seconds_text(m.predicted_s),
           seconds_text(m.lower_bound_s), bytes_text(m.measured_peak),
           difference_text(m.measured_peak, m.predicted_peak), bytes_text(m.rss_peak)});
    }
  }
  document.table(std::move(table));
}

/// Ratios to one reference over all budgets where it was measured; nothing where it never was.
std::optional<chart::Panel> ratio_panel(const std::vector<Place>& places, const std::string& reference,
                                        const std::vector<Target>& targets) {
  std::vector<ForestPoint> points;
  std::set<std::string> seen;
  std::vector<chart::Rule> rules;
  for (std::size_t at = 0; at < places.size(); ++at) {
    const Place& place = places[at];
    if (!measured(place, reference)) continue;
    for (const std::string& method : names_in(place)) {
      Ratio ratio = method == reference ? Ratio() : ratio_of(place, method, reference);
      if (ratio.wall.n == 0) continue;
      seen.insert(method);
      points.push_back({method, budget_text(place), ratio.wall.geometric_mean, ratio.wall.bootstrap.low,
                        ratio.wall.bootstrap.high, static_cast<int>(at)});
    }
    for (const Target& target : targets) {
      if (!is_at(target, place) || target.reference != reference) continue;
      rules.push_back({chart::Along::x, target.at_most,
                       fmt::format("target {:.2f}: {} at {}", target.at_most, target.method, target.budget)});
    }
  }
  if (points.empty()) return std::nullopt;
  chart::Panel panel = forest_panel(in_order({seen.begin(), seen.end()}), points);
  panel.title = "Compared with " + reference;
  panel.x.label = "step time over that of " + reference + " (ratio; less is faster)";
  panel.x.scale = chart::ScaleKind::log;
  mark_equal(panel, reference);
  panel.rules.insert(panel.rules.end(), rules.begin(), rules.end());
  return panel;
}

void draw_ratios(Document& document, const std::vector<Place>& places, const std::string& what,
                 const std::vector<Target>& targets) {
  chart::Chart picture;
  picture.title = "Paired ratios of step time, " + what;
  picture.subtitle = "geometric mean over blocks, one fresh process of each method a block; bars: 97.5 % intervals";
  picture.one_legend = true;
  for (const char* reference : {"retain+whole", "region"}) {
    std::optional<chart::Panel> panel = ratio_panel(places, reference, targets);
    if (panel) picture.panels.push_back(std::move(*panel));
  }
  if (picture.panels.empty()) return;
  document.figure(
      file_name("ratios " + what), chart::to_svg(picture),
      "Step time of each method over that of another at each budget, with 97.5 % bootstrap intervals; left of 1 "
      "is faster. A row without a point has no plan at that budget.");
}

struct Dot {
  double peak, low, high, seconds, predicted_peak, predicted_s;
};

std::vector<Dot> dots_of(const std::vector<Place>& places, const std::string& method) {
  std::vector<Dot> dots;
  for (const Place& place : places) {
    if (!measured(place, method)) continue;
    const Measured& m = place.methods.at(method);
    std::vector<double> wall;
    for (const auto& [block, seconds] : m.wall) wall.push_back(seconds);
    study::Interval range = study::range(wall);
    dots.push_back({m.measured_peak, range.low, range.high, study::median(wall), m.predicted_peak, m.predicted_s});
  }
  std::sort(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) {
    return std::pair(a.predicted_peak, a.peak) < std::pair(b.predicted_peak, b.peak);
  });
  return dots;
}

void draw_times(Document& document, const std::vector<Place>& places, const std::string& what) {
  chart::Panel panel;
  panel.x = {.label = "peak memory of the step", .unit = chart::Unit::bytes};
  panel.y = {.label = "time of a step", .unit = chart::Unit::seconds};
  panel.height = 380;
  for (const std::string& method : methods_of(places)) {
    chart::Series predicted, points;
    predicted.name = points.name = method;
    predicted.slot = points.slot = slot_of(method);
    points.kind = chart::SeriesKind::points;
    for (const Dot& dot : dots_of(places, method)) {
      points.x.push_back(dot.peak);
      points.y.push_back(dot.seconds);
      points.low.push_back(dot.low);
      points.high.push_back(dot.high);
      predicted.x.push_back(dot.predicted_peak);
      predicted.y.push_back(dot.predicted_s);
      points.marks.push_back(dot.predicted_s);
    }
    if (points.x.empty()) continue;
    bool joined = predicted.x.size() > 1 && predicted.x.front() < predicted.x.back();
    if (joined) panel.series.push_back(std::move(predicted));
    panel.series.push_back(std::move(points));
  }
  if (panel.series.empty()) return;
  panel.note =
      "shapes: measured, bars from the fastest to the slowest process; short bars across, and lines through the "
      "predicted peaks: predicted; methods with about the same peak stand side by side";
  panel.beside = true;
  chart::Chart picture;
  picture.title = "Step time against peak memory, " + what;
  picture.subtitle = "each shape is one method at one budget";
  picture.panels.push_back(std::move(panel));
  document.figure(file_name("times " + what), chart::to_svg(picture),
                  "Measured step time (median over processes, range) against the measured peak of live bytes; short "
                  "bars are what the planner predicted for the same budgets, lines join them at the predicted peaks. "
                  "Methods with about the same peak stand side by side, a little beside it.");
}

/// One comparison at one budget, at each granularity; nothing where it was measured at none.
std::optional<std::vector<std::string>> row_beside(const std::vector<Place>& places,
                                                   const std::vector<std::string>& granularities,
                                                   const std::string& budget, const std::string& method,
                                                   const std::string& reference) {
  std::vector<std::string> row{budget, method, reference};
  bool any = false;
  for (const std::string& granularity : granularities) {
    auto at = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.budget == budget && place.granularity == granularity;
    });
    Ratio ratio = at == places.end() ? Ratio() : ratio_of(*at, method, reference);
    bool paired = ratio.wall.n > 0;
    any = any || paired;
    row.push_back(paired ? fmt::format("{} ({})", ratio_text(ratio.wall), ratio.wall.n) : "none");
    row.push_back(paired ? predicted_text(ratio) : "");
  }
  if (!any) return std::nullopt;
  return row;
}

/// Ratios of one workload at each granularity, side by side; nothing for a workload with one.
void add_beside(Document& document, const std::vector<Place>& places, const std::vector<std::string>& granularities) {
  if (granularities.size() < 2) return;
  Table table{
      "The same ratios of step time at each granularity: geometric mean and 97.5 % bootstrap interval (pairs); "
      "what the planner predicted",
      {{"budget", false}, {"method", false}, {"over", false}},
      {},
      {}};
  for (const std::string& granularity : granularities) {
    table.columns.push_back({granularity});
    table.columns.push_back({"predicted at " + granularity});
  }
  std::vector<std::string> budgets;
  for (const Place& place : places) {
    bool known = is_rung(place) || std::find(budgets.begin(), budgets.end(), place.budget) != budgets.end();
    if (!known) budgets.push_back(place.budget);
  }
  const std::string whole = "retain+whole", region = "region";
  for (const std::string& budget : budgets) {
    for (const std::string& reference : {whole, region}) {
      for (const std::string& method : methods_of(places)) {
        if (method == reference || (reference == region && method == whole))
          continue;  // that pair stands there already
        if (auto row = row_beside(places, granularities, budget, method, reference)) table.rows.push_back(*row);
      }
    }
  }
  if (!table.rows.empty()) document.table(std::move(table));
}

void add_granularity(Document& document, const std::vector<Place>& places, const std::string& what,
                     const std::vector<Target>& targets) {
  document.heading(4, what);
  std::vector<Place> ladder, budgets;
  std::copy_if(places.begin(), places.end(), std::back_inserter(ladder), is_rung);
  std::remove_copy_if(places.begin(), places.end(), std::back_inserter(budgets), is_rung);
  draw_ratios(document, budgets, what, targets);
  draw_ratios(document, ladder, what + ", ladder of budgets", targets);
  add_ratios(document, places);
  draw_times(document, places, what);
  add_times(document, places);
}

/// Workloads in the order of the study's file, as its first record has them, then others as they come.
std::vector<std::string> workloads_in_order(const Study& study, const std::vector<Place>& places) {
  std::vector<std::string> names, found;
  const Json& start = start_of(study);
  if (start.is_object() && start.contains("fingerprints") && start["fingerprints"].is_object()) {
    for (const auto& [name, prints] : start["fingerprints"].items()) names.push_back(name);
  }
  for (const Place& place : places) names.push_back(place.workload);
  for (const std::string& name : names) {
    bool here = std::any_of(places.begin(), places.end(), [&](const Place& place) { return place.workload == name; });
    if (here && std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  }
  return found;
}

/// Segment first, since the targets and the paper's figures are of it.
std::vector<std::string> granularities_of(const std::vector<Place>& places) {
  std::vector<std::string> names;
  for (const Place& place : places) {
    if (std::find(names.begin(), names.end(), place.granularity) == names.end()) names.push_back(place.granularity);
  }
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "segment"; });
  return names;
}

}  // namespace

void add_workloads(Document& document, const Study& study, Findings& findings) {
  std::vector<Place> places = places_of(study, "process");
  if (places.empty()) return;
  document.heading(2, "Workloads");
  std::vector<Target> targets = targets_of(study.settings);
  for (std::string& finding : target_findings(study, places, targets)) findings.push_back(std::move(finding));
  std::vector<Place> sorted;
  for (const std::string& workload : workloads_in_order(study, places)) {
    std::vector<Place> all;
    std::copy_if(places.begin(), places.end(), std::back_inserter(all),
                 [&](const Place& place) { return place.workload == workload; });
    std::stable_sort(all.begin(), all.end(),
                     [](const Place& a, const Place& b) { return a.budget_bytes > b.budget_bytes; });
    std::vector<std::string> granularities = granularities_of(all);
    document.heading(3, workload);
    add_beside(document, all, granularities);
    for (const std::string& granularity : granularities) {
      std::vector<Place> same;
      std::copy_if(all.begin(), all.end(), std::back_inserter(same),
                   [&](const Place& place) { return place.granularity == granularity; });
      add_granularity(document, same, workload + ", granularity " + granularity, targets);
      sorted.insert(sorted.end(), same.begin(), same.end());
    }
  }
  add_steadiness(document, sorted);
}

}  // namespace reprise::report
