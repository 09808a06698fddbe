// Whether measuring processes did what was promised: the same bytes under all methods (hashes of gradients, parameters
// and state), the predicted peak and time; and what the measurement itself is worth.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

constexpr const char* kParts[] = {"gradients", "parameters", "state"};

/// Processes that must agree, and the hashes that were seen.
struct Group {
  std::int64_t processes = 0;
  std::map<std::string, std::set<std::string>> values;  // by part
  bool equal() const {
    return std::all_of(values.begin(), values.end(), [](const auto& part) { return part.second.size() == 1; });
  }
  std::string different(const char* part) const {
    auto found = values.find(part);
    return count_text(found == values.end() ? 0 : static_cast<std::int64_t>(found->second.size()));
  }
};

/// What a process must agree with: all others of its workload, of its cell of the map, of its layout and seed.
std::string group_of(const study::Record& record) {
  const Json& json = record.json;
  if (record.kind == "process") return "workload " + text_in(json, "workload");
  if (record.kind == "timing") return fmt::format("layout {}, seed {}", text_in(json, "layout"), json["seed"].dump());
  if (record.kind == "map_measured") {
    return fmt::format("map, table ratio {:g}, {:g} % written", number_in(json, "table_ratio"),
                       100 * number_in(json, "written_share"));
  }
  return "";
}

/// Whether each process held at its peak what its plan promised.
void add_peaks(const Study& study, Findings& findings) {
  std::int64_t processes = 0, equal = 0, above = 0;
  double worst = 0;  // bytes above the promise
  for (const study::Record& record : study.records) {
    if (group_of(record).empty() || !record.ok()) continue;
    double predicted = number_in(record.json, "predicted_peak_bytes"),
           measured = number_in(record.json, "measured_peak_bytes");
    if (!(predicted > 0) || !(measured > 0)) continue;
    ++processes;
    equal += measured == predicted ? 1 : 0;
    above += measured > predicted ? 1 : 0;
    worst = std::max(worst, measured - predicted);
  }
  if (processes == 0) return;
  std::string all = counted(processes, "measuring process", "measuring processes");
  if (equal == processes) {
    findings.push_back("The measured peak of live bytes is the predicted one, to the byte, in all " + all + ".");
    return;
  }
  std::string text = fmt::format("The measured peak of live bytes is the predicted one, to the byte, in {} of {}",
                                 count_text(equal), all);
  findings.push_back(
      text + (above == 0 ? ", and above it in none."
                         : fmt::format(", and ABOVE it in {}, by up to {}.", count_text(above), bytes_text(worst))));
}

/// A place and a method in words.
std::string at_text(const Place& place, const std::string& method) {
  if (place.table_ratio > 0)
    return fmt::format("map, table ratio {:g}, {:g} % written, {}", place.table_ratio, 100 * place.written_share,
                       method);
  std::string text = place.workload.empty() ? place.layout : place.workload;
  for (const std::string& part : {place.budget, place.granularity, method}) text += (part.empty() ? "" : ", ") + part;
  return place.seed > 0 ? text + fmt::format(", seed {}", place.seed) : text;
}

/// How far the planner's times are from the measured ones.
void add_time_accuracy(const Study& study, Findings& findings) {
  double low = Measured::kNone, high = Measured::kNone;
  std::string fastest, slowest;
  std::int64_t count = 0;
  for (const char* kind : {"process", "map_measured", "timing"}) {
    for (const Place& place : places_of(study, kind)) {
      for (const auto& [method, m] : place.methods) {
        if (m.wall.empty() || !(m.predicted_s > 0)) continue;
        std::vector<double> wall;
        for (const auto& [block, seconds] : m.wall) wall.push_back(seconds);
        double ratio = study::median(wall) / m.predicted_s;
        ++count;
        if (!(ratio >= low)) low = ratio, fastest = at_text(place, method);
        if (!(ratio <= high)) high = ratio, slowest = at_text(place, method);
      }
    }
  }
  if (count < 2) return;
  findings.push_back(fmt::format(
      "Measured step times, as medians over processes, are {} ({}) to {} ({}) times the predicted ones, over "
      "{} methods at their budgets.",
      ratio_text(low), fastest, ratio_text(high), slowest, count_text(count)));
}

/// Methods that chose the same plan differ by chance alone, so their intervals are a test of the measurement.
void add_same_plans(const Study& study, Findings& findings) {
  std::int64_t all = 0, with_one = 0, with_one_by_t = 0;
  std::vector<double> ratios;
  for (const Place& place : places_of(study, "process")) {
    std::vector<std::string> methods = methods_of({place});
    for (std::size_t under = 0; under < methods.size(); ++under) {
      for (std::size_t over = under + 1; over < methods.size(); ++over) {
        const Measured &a = place.methods.at(methods[over]), &b = place.methods.at(methods[under]);
        if (a.plans.size() != 1 || a.plans != b.plans) continue;
        study::RatioSummary wall = ratio_of(place, methods[over], methods[under]).wall;
        if (!wall.bootstrap.defined()) continue;
        ++all;
        with_one += wall.bootstrap.low <= 1 && wall.bootstrap.high >= 1 ? 1 : 0;
        with_one_by_t += wall.log_t.low <= 1 && wall.log_t.high >= 1 ? 1 : 0;
        ratios.push_back(wall.geometric_mean);
      }
    }
  }
  if (all == 0) return;
  findings.push_back(fmt::format(
      "Methods that chose the same plan differ by chance alone: the 97.5 % interval of their ratio contains 1 in {} of "
      "{} by the bootstrap, which is too short where pairs are few, and in {} by log-t; the ratios are within {}.",
      count_text(with_one), counted(all, "such comparison", "such comparisons"), count_text(with_one_by_t),
      interval_text(study::range(ratios))));
}

}  // namespace

void add_equal_bytes(Document& document, const Study& study, Findings& findings) {
  std::map<std::string, Group> groups;
  for (const study::Record& record : study.records) {
    std::string name = group_of(record);
    if (name.empty() || !record.ok() || text_in(record.json, "method") == "unchecked") continue;
    Group& group = groups[name];
    ++group.processes;
    for (const char* part : kParts) {
      std::string hash = text_in(record.json["hash"], part);
      group.values[part].insert(hash.empty() ? record.id + " has none" : hash);
    }
  }
  if (groups.empty()) return;
  Table table{"Different bytes after the last step, over all methods and processes",
              {{"of", false}, {"processes"}, {"gradients"}, {"parameters"}, {"state"}, {"", false}},
              {},
              {}};
  std::int64_t processes = 0, unequal = 0;
  for (const auto& [name, group] : groups) {
    if (!group.equal()) table.marked.push_back(table.rows.size());
    unequal += group.equal() ? 0 : 1;
    processes += group.processes;
    table.rows.push_back({name, count_text(group.processes), group.different("gradients"),
                          group.different("parameters"), group.different("state"),
                          group.equal() ? "all equal" : "NOT EQUAL"});
  }
  document.heading(2, "Equal bytes");
  document.table(std::move(table));
  std::string all = counted(processes, "measuring process", "measuring processes");
  findings.push_back(unequal == 0
                         ? "Gradients, parameters and state are byte-equal over all methods in all " + all + "."
                         : "Gradients, parameters or state DIFFER between processes; see the table of equal bytes.");
  add_peaks(study, findings);
  add_time_accuracy(study, findings);
  add_same_plans(study, findings);
}

}  // namespace reprise::report
