// Step times of an application against those of `whole`, by seed.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "tools/chart/chart.h"
#include "tools/report/pictures.h"
#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

constexpr const char* kReference = "whole";

struct BySeed {
  std::vector<double> seeds, cpu;  // geometric mean of the pairs of each seed
  std::int64_t pairs = 0;
  std::int64_t unpaired = 0, failed = 0, infeasible = 0;
  bool at_smallest = false;
  double predicted = Measured::kNone;
};

BySeed by_seed(const std::vector<Place>& places, const std::string& method) {
  BySeed all;
  for (const Place& place : places) {
    Ratio ratio = ratio_of(place, method, kReference);
    all.unpaired += ratio.unpaired;
    if (auto found = place.methods.find(method); found != place.methods.end()) {
      all.failed += found->second.failed;
      all.infeasible += found->second.infeasible;
      all.at_smallest = all.at_smallest || found->second.at_smallest;
    }
    if (ratio.wall.n == 0) continue;
    all.seeds.push_back(ratio.wall.geometric_mean);
    if (ratio.cpu.n > 0) all.cpu.push_back(ratio.cpu.geometric_mean);
    all.pairs += ratio.wall.n;
    if (!std::isfinite(all.predicted)) all.predicted = ratio.predicted;
  }
  return all;
}

void add_seeds(Document& document, const std::vector<Place>& places, const std::vector<std::string>& methods) {
  Table table{"Step time over that of whole, by seed: geometric mean of the pairs (number of pairs)",
              {{"method", false}},
              {},
              {}};
  for (const Place& place : places) table.columns.push_back({fmt::format("seed {}", place.seed)});
  for (const std::string& method : methods) {
    std::vector<std::string> row{method};
    for (const Place& place : places) {
      Ratio ratio = ratio_of(place, method, kReference);
      row.push_back(ratio.wall.n > 0 ? fmt::format("{} ({})", ratio_text(ratio.wall.geometric_mean), ratio.wall.n)
                                     : "none");
    }
    table.rows.push_back(std::move(row));
  }
  document.table(std::move(table));
}

void add_summary(Document& document, const std::vector<Place>& places, const std::vector<std::string>& methods) {
  Table table{"Over seeds: geometric mean, range and 97.5 % intervals of the seeds' ratios; the mean for CPU time",
              {{"method", false},
               {"seeds"},
               {"pairs"},
               {"un-paired"},
               {"failed"},
               {"infeasible"},
               {"ratio"},
               {"range of seeds"},
               {"bootstrap"},
               {"log-t"},
               {"CPU time"},
               {"predicted"}},
              {},
              {}};
  for (const std::string& method : methods) {
    BySeed all = by_seed(places, method);
    study::RatioSummary seeds = study::summarise(all.seeds, places.front().resampling);
    std::string name = method + (all.at_smallest ? " (at its smallest budget)" : "");
    table.rows.push_back({name, count_text(seeds.n), count_text(all.pairs), count_text(all.unpaired),
                          count_text(all.failed), count_text(all.infeasible), ratio_text(seeds.geometric_mean),
                          interval_text(seeds.range), interval_text(seeds.bootstrap), interval_text(seeds.log_t),
                          all.cpu.empty() ? "none" : ratio_text(study::geometric_mean(all.cpu)),
                          ratio_text(all.predicted)});
  }
  document.table(std::move(table));
}

void draw(Document& document, const std::vector<Place>& places, const std::vector<std::string>& methods,
          const std::string& what) {
  std::vector<ForestPoint> points;
  std::vector<std::string> rows;
  for (const std::string& method : methods) {
    BySeed all = by_seed(places, method);
    if (all.seeds.empty()) continue;
    rows.push_back(method);
    study::Interval range = study::range(all.seeds);
    points.push_back(
        {method, "geometric mean over seeds, range", study::geometric_mean(all.seeds), range.low, range.high});
    for (double seed : all.seeds) points.push_back({method, "one seed", seed, Measured::kNone, Measured::kNone});
    if (std::isfinite(all.predicted))
      points.push_back({method, "predicted", all.predicted, Measured::kNone, Measured::kNone});
  }
  if (rows.empty()) return;
  chart::Panel panel = forest_panel(rows, points);
  panel.x.label = "step time over that of whole (ratio; less is faster)";
  panel.x.scale = chart::ScaleKind::log;
  mark_equal(panel, kReference);
  chart::Chart picture;
  picture.title = "Step time against whole, " + what;
  picture.subtitle = "each small shape is one seed: the geometric mean of its paired processes";
  picture.legend = chart::LegendPlace::below;
  picture.panels.push_back(std::move(panel));
  document.figure(
      file_name("timing " + what), chart::to_svg(picture),
      "Ratio of step times to whole for each seed, their geometric mean and range, and what the planner predicted.");
}

void add_times(Document& document, const std::vector<Place>& places) {
  Table table{"Time of a step and memory by seed: median over processes; highest peak",
              {{"seed"},
               {"method", false},
               {"processes"},
               {"failed"},
               {"step"},
               {"CPU time"},
               {"predicted"},
               {"peak"},
               {"predicted peak"}},
              {},
              {}};
  for (const Place& place : places) {
    for (const std::string& method : methods_of({place})) {
      const Measured& m = place.methods.at(method);
      std::vector<double> wall, cpu;
      for (const auto& [block, seconds] : m.wall) wall.push_back(seconds);
      for (const auto& [block, seconds] : m.cpu) cpu.push_back(seconds);
      table.rows.push_back({std::to_string(place.seed), method, count_text(m.processes), count_text(m.failed),
                            wall.empty() ? "none" : seconds_text(study::median(wall)),
                            cpu.empty() ? "none" : seconds_text(study::median(cpu)), seconds_text(m.predicted_s),
                            bytes_text(m.measured_peak), bytes_text(m.predicted_peak)});
    }
  }
  document.table(std::move(table));
}

void add_layout(Document& document, const std::vector<Place>& places, const std::string& layout, Findings& findings) {
  std::vector<std::string> methods = methods_of(places);
  methods.erase(std::remove(methods.begin(), methods.end(), kReference), methods.end());
  std::string what = "layout " + layout;
  document.heading(3, what);
  draw(document, places, methods, what);
  add_summary(document, places, methods);
  add_seeds(document, places, methods);
  add_times(document, places);
  BySeed joint = by_seed(places, "joint");
  if (joint.seeds.empty()) return;
  study::RatioSummary seeds = study::summarise(joint.seeds, places.front().resampling);
  std::string interval = seeds.bootstrap.defined() ? ", 97.5 % interval " + interval_text(seeds.bootstrap) : "";
  findings.push_back(fmt::format(
      "{}: step time of joint over that of whole {} (geometric mean over {}, range {}{}); the planner predicted {}. "
      "The paper measured 1.0080, range of seeds [0.9845, 1.0191], on an H100.",
      what, ratio_text(seeds.geometric_mean), counted(seeds.n, "seed", "seeds"), interval_text(seeds.range), interval,
      ratio_text(joint.predicted)));
}

}  // namespace

void add_timing(Document& document, const Study& study, Findings& findings) {
  std::vector<Place> places = places_of(study, "timing");
  if (places.empty()) return;
  document.heading(2, "Time against whole");
  std::set<std::string> done;
  for (const Place& first : places) {
    if (!done.insert(first.layout).second) continue;
    std::vector<Place> same;
    std::copy_if(places.begin(), places.end(), std::back_inserter(same),
                 [&](const Place& place) { return place.layout == first.layout; });
    std::sort(same.begin(), same.end(), [](const Place& a, const Place& b) { return a.seed < b.seed; });
    add_layout(document, same, first.layout, findings);
  }
  add_steadiness(document, places);
}

}  // namespace reprise::report
