// The analysis of the study sparse_write: from its records to summary.json and a table. A process counts as the median
// of its timed steps; ratios are paired within blocks.
//
//   summary.json   level, records (kind -> status -> number), failed (ids), cells (workload, budget, budget_bytes,
//   granularity, methods, pairs), targets, hashes (workload -> equal, differing), map. A pair says over : under; `wall`
//   and `cpu` have n, geometric_mean, bootstrap, log_t and range as [low, high]; `unpaired` counts blocks
//   with only one of both, which are in no ratio; `predicted` is the ratio of the plans.
#include <algorithm>
#include <map>
#include <tuple>

#include "core/text.h"
#include "recompute/planning/planner.h"
#include "tools/study/sparse_write.h"
#include "tools/study/statistics_json.h"

namespace reprise::study {
namespace {

/// What the processes of one method in one cell came to.
struct MethodRuns {
  std::map<std::int64_t, double> wall, cpu;  // by block, seconds
  double predicted_s = 0;
  std::int64_t predicted_peak = 0, measured_peak = 0;  // the highest that was measured
  std::int64_t failed = 0;
  std::string infeasible;
};

struct CellRuns {
  std::int64_t budget_bytes = 0;
  std::map<std::string, MethodRuns> methods;
};

void take_in(MethodRuns& runs, const Record& record) {
  const Json& json = record.json;
  if (record.status == "infeasible")
    runs.infeasible = json.at("error").is_string() ? std::string(json.at("error")) : "no plan";
  if (record.status == "failed") ++runs.failed;
  if (!record.ok()) return;
  std::int64_t block = json.at("block");
  runs.wall[block] = median_of(json.at("wall_s"));
  runs.cpu[block] = median_of(json.at("cpu_s"));
  runs.predicted_s = json.at("predicted_s");
  runs.predicted_peak = json.at("predicted_peak_bytes");
  runs.measured_peak = std::max<std::int64_t>(runs.measured_peak, json.at("measured_peak_bytes"));
}

struct Pair {
  std::string over, under;
  RatioSummary wall, cpu;
  double predicted = 0;
  std::int64_t unpaired = 0;  // blocks with only one of both
};

class SparseWriteAnalysis {
 public:
  SparseWriteAnalysis(const Config& study, const std::vector<Record>& records)
      : study_(study), records_(records), seed_(static_cast<std::uint64_t>(study.get_int("seed"))) {
    for (const Record& record : records) {
      if (record.kind == "process") {
        const Json& json = record.json;
        CellRuns& cell = cells_[{json.at("workload"), json.at("budget"), json.at("granularity")}];
        cell.budget_bytes = json.at("budget_bytes");
        take_in(cell.methods[json.at("method")], record);
      }
      if (record.kind == "map_measured") {
        const Json& json = record.json;
        take_in(map_[{json.at("table_ratio"), json.at("written_share")}].methods[json.at("method")], record);
      }
    }
  }

  Analysis analyse() {
    Analysis analysis;
    Json& summary = analysis.summary;
    summary["schema"] = "reprise-study-summary/1";
    summary["study"] = study_.get_string("name");
    summary["level"] = kLevel;
    summary.update(count_records(records_));
    summary["cells"] = Json::array();
    for (const auto& [key, cell] : cells_) summary["cells"].push_back(cell_json(key, cell));
    summary["targets"] = targets();
    summary["hashes"] = hashes(analysis.wrong);
    summary["map"] = map_json();
    analysis.text = text_;
    return analysis;
  }

 private:
  using CellKey = std::tuple<std::string, std::string, std::string>;  // workload, budget, granularity

  Pair pair(const CellRuns& cell, const std::string& over, const std::string& under) const {
    const MethodRuns &a = cell.methods.at(over), &b = cell.methods.at(under);
    Pair pair{over, under, summarise(paired_ratios(a.wall, b.wall), seed_),
              summarise(paired_ratios(a.cpu, b.cpu), seed_), 0};
    pair.predicted = a.predicted_s / b.predicted_s;
    pair.unpaired = unpaired_blocks(a.wall, b.wall);
    return pair;
  }

  /// Pairs of methods that both have measured processes; the wider method over the narrower one.
  std::vector<Pair> pairs(const CellRuns& cell) const {
    std::vector<std::string> measured;
    for (const std::string& method : plannable_methods()) {
      auto found = cell.methods.find(method);
      if (found != cell.methods.end() && !found->second.wall.empty()) measured.push_back(method);
    }
    std::vector<Pair> all;
    for (std::size_t over = measured.size(); over-- > 0;) {
      for (std::size_t under = 0; under < over; ++under) all.push_back(pair(cell, measured[over], measured[under]));
    }
    return all;
  }

  static Json method_json(const std::string& method, const MethodRuns& runs) {
    Json json = {{"method", method}, {"n", runs.wall.size()}, {"failed", runs.failed}};
    json["infeasible"] = runs.infeasible.empty() ? Json() : Json(runs.infeasible);
    if (runs.wall.empty()) return json;
    std::vector<double> wall, cpu;
    for (const auto& [block, seconds] : runs.wall) wall.push_back(seconds);
    for (const auto& [block, seconds] : runs.cpu) cpu.push_back(seconds);
    json["wall_s"] = median(wall);
    json["cpu_s"] = median(cpu);
    json["predicted_s"] = runs.predicted_s;
    json["measured_peak_bytes"] = runs.measured_peak;
    json["predicted_peak_bytes"] = runs.predicted_peak;
    json["peak_measured_to_predicted"] =
        static_cast<double>(runs.measured_peak) / static_cast<double>(runs.predicted_peak);
    return json;
  }

  Json cell_json(const CellKey& key, const CellRuns& cell) {
    auto [workload, budget, granularity] = key;
    Json json = {
        {"workload", workload}, {"budget", budget}, {"budget_bytes", cell.budget_bytes}, {"granularity", granularity}};
    json["methods"] = Json::array();
    std::vector<Pair> all = pairs(cell);
    std::vector<std::vector<std::string>> rows{
        {"method", "n", "s a step", "planned", "peak", "joint : it", "97.5 % interval", "by CPU time", "planned"}};
    for (const std::string& method : methods_of(study_)) {
      auto found = cell.methods.find(method);
      if (found == cell.methods.end()) continue;
      json["methods"].push_back(method_json(method, found->second));
      rows.push_back(table_row(method, json["methods"].back(), all));
    }
    json["pairs"] = Json::array();
    for (const Pair& pair : all) {
      json["pairs"].push_back({{"over", pair.over},
                               {"under", pair.under},
                               {"wall", ratio_json(pair.wall)},
                               {"cpu", ratio_json(pair.cpu)},
                               {"unpaired", pair.unpaired},
                               {"predicted", pair.predicted}});
    }
    text_ += fmt::format("{}, budget {} ({}), granularity {}\n{}\n", workload, budget, short_bytes(cell.budget_bytes),
                         granularity, format_table(rows, {false, true, true, true, true, true, true, true, true}));
    text_ += left_out(cell, all);
    return json;
  }

  /// What was begun and is in no ratio of the table: a line each; nothing where all is in them.
  static std::string left_out(const CellRuns& cell, const std::vector<Pair>& pairs) {
    std::string text;
    for (const auto& [method, runs] : cell.methods) {
      if (runs.failed > 0) text += fmt::format("{}: {}\n", method, counted(runs.failed, "failure"));
    }
    for (const Pair& pair : pairs) {
      if (pair.over != "joint" || pair.unpaired == 0) continue;
      text += fmt::format("joint : {}: {} with only one of both, not in the ratio\n", pair.under,
                          counted(pair.unpaired, "block"));
    }
    return text.empty() ? text : text + "\n";
  }

  static std::vector<std::string> table_row(const std::string& method, const Json& json,
                                            const std::vector<Pair>& pairs) {
    if (json["n"] == 0)
      return {method, "0", json["infeasible"].is_null() ? "failed" : "infeasible", "", "", "", "", "", ""};
    std::string off = json["measured_peak_bytes"] == json["predicted_peak_bytes"]
                          ? ""
                          : fmt::format(" ({:.4f} of planned)", double(json["peak_measured_to_predicted"]));
    std::vector<std::string> row{method,
                                 fmt::format("{}", std::int64_t(json["n"])),
                                 fmt::format("{:.4f}", double(json["wall_s"])),
                                 fmt::format("{:.4f}", double(json["predicted_s"])),
                                 short_bytes(json["measured_peak_bytes"]) + off,
                                 "",
                                 "",
                                 "",
                                 ""};
    for (const Pair& pair : pairs) {
      if (pair.over != "joint" || pair.under != method) continue;
      row[5] = fmt::format("{:.4f}", pair.wall.geometric_mean);
      row[6] = bounds_text(pair.wall.bootstrap);
      row[7] = fmt::format("{:.4f}", pair.cpu.geometric_mean);
      row[8] = fmt::format("{:.4f}", pair.predicted);
    }
    return row;
  }

  Json targets() {
    Json all = Json::array();
    const std::string& workload = study_.get_string("targets.workload");
    struct Target {
      const char *budget, *under, *key;
    };
    for (const Target& target : {Target{"both", "retain+whole", "targets.joint_to_whole"},
                                 Target{"tight", "region", "targets.joint_to_region"}}) {
      auto cell = cells_.find({workload, target.budget, "segment"});
      if (workload.empty() || cell == cells_.end()) continue;
      double at_most = study_.get_real(target.key);
      Json json = {{"workload", workload},
                   {"budget", target.budget},
                   {"over", "joint"},
                   {"under", target.under},
                   {"at_most", at_most}};
      std::string said;
      for (const Pair& pair : pairs(cell->second)) {
        if (pair.over != "joint" || pair.under != target.under) continue;
        double found = pair.wall.geometric_mean;
        json["wall"] = ratio_json(pair.wall);
        json["cpu"] = ratio_json(pair.cpu);
        json["predicted"] = pair.predicted;
        json["met"] = found <= at_most;
        json["missed_by"] = std::max(0.0, found - at_most);
        said = fmt::format("{:.4f} {}: {}", found, bounds_text(pair.wall.bootstrap),
                           found <= at_most ? "met" : fmt::format("missed by {:.4f}", found - at_most));
        said += fmt::format(", planned {:.4f}", pair.predicted);
      }
      if (said.empty()) {
        json["met"] = false;
        said = "not measured: no block has both, see their records";
      }
      text_ += fmt::format("target: {}, budget {}, joint : {} at most {:.2f}: {}\n", workload, target.budget,
                           target.under, at_most, said);
      all.push_back(std::move(json));
    }
    return all;
  }

  /// All processes of one workload must have computed the same bytes.
  Json hashes(std::string& wrong) {
    std::map<std::string, const Record*> first;
    Json all = Json::object();
    for (const Record& record : records_) {
      if (!record.ok() || (record.kind != "process" && record.kind != "map_measured")) continue;
      const Json& json = record.json;
      std::string what = record.kind == "process" ? std::string(json.at("workload"))
                                                  : fmt::format("map {}/{}", double(json.at("table_ratio")),
                                                                double(json.at("written_share")));
      auto [reference, fresh] = first.emplace(what, &record);
      if (fresh)
        all[what] = {{"equal", true}, {"hash", json.at("hash")}, {"processes", 0}, {"differing", Json::array()}};
      all[what]["processes"] = std::int64_t(all[what]["processes"]) + 1;
      if (json.at("hash") == reference->second->json.at("hash")) continue;
      all[what]["equal"] = false;
      all[what]["differing"].push_back(record.id);
      if (!wrong.empty()) continue;
      for (auto& [name, value] : json.at("hash").items()) {
        if (reference->second->json.at("hash").value(name, Json()) == value) continue;
        wrong = fmt::format(
            "[study] expected equal bytes under all methods, the {} of {} (line {}) differ from those of {} (line {})",
            name, record.id, record.line, reference->second->id, reference->second->line);
        break;
      }
      if (wrong.empty())
        wrong = fmt::format("[study] expected the same hashes in {} (line {}) and {} (line {}), one has others",
                            record.id, record.line, reference->second->id, reference->second->line);
    }
    std::size_t processes = 0;
    for (const auto& [what, json] : all.items()) processes += std::size_t(json["processes"]);
    if (wrong.empty() && processes > 0)
      text_ += fmt::format("gradients, parameters and states: equal bytes in all {} processes\n", processes);
    return all;
  }

  Json map_json() const {
    Json cells = Json::array();
    for (const Record& record : records_) {
      if (record.kind != "map" || !record.ok()) continue;
      const Json& json = record.json;
      auto seconds = [&](const char* method) { return number_or_0(json.at("predicted_s"), method); };
      auto ratio = [&](const char* under) {
        return seconds(under) > 0 ? Json(seconds("joint") / seconds(under)) : Json();
      };
      Json cell = {{"table_ratio", json.at("table_ratio")},
                   {"written_share", json.at("written_share")},
                   {"budget_bytes", json.at("budget_bytes")},
                   {"predicted", {{"retain+whole", ratio("retain+whole")}, {"region", ratio("region")}}},
                   {"measured", nullptr}};
      auto measured = map_.find({json.at("table_ratio"), json.at("written_share")});
      if (measured != map_.end()) {
        cell["measured"] = Json::object();
        for (const Pair& pair : pairs(measured->second)) {
          if (pair.over == "joint")
            cell["measured"][pair.under] = {{"wall", ratio_json(pair.wall)}, {"cpu", ratio_json(pair.cpu)}};
        }
      }
      cells.push_back(std::move(cell));
    }
    return cells;
  }

  const Config& study_;
  const std::vector<Record>& records_;
  std::uint64_t seed_;
  std::map<CellKey, CellRuns> cells_;
  std::map<std::pair<double, double>, CellRuns> map_;
  std::string text_;
};

}  // namespace

Analysis analyse_sparse_write(const Config& study, const std::vector<Record>& records) {
  return SparseWriteAnalysis(study, records).analyse();
}

}  // namespace reprise::study
