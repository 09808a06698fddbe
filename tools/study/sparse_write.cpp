#include "tools/study/sparse_write.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "models/train/make_plan.h"
#include "models/train/trace_step.h"
#include "recompute/planning/planner.h"
#include "tools/bench/measure.h"
#include "tools/study/measured_run.h"
#include "tools/study/workload.h"

namespace reprise::study {
namespace {

std::vector<Key> study_keys() {
  std::vector<Key> keys = workload_keys();
  for (Key& key : std::vector<Key>{
           words_key("methods", plannable_methods(), {}, "methods that take part"),
           words_key("granularities", {"segment", "node"}, {}, "recompute.granularity of the plans: segment, node"),
           integer_key("steps.warmup", 2, at_least(0), "steps", "steps of each process before its time is taken"),
           integer_key("steps.timed", 5, at_least(1), "steps", "timed steps of each process; their median counts"),
           integer_key("processes.budgets", 15, at_least(1), "processes",
                       "of each feasible method at the two budgets, at granularity segment"),
           map_key("processes.of", {}, "by workload: the same, where it is another number"),
           integer_key("processes.node", 5, at_least(1), "processes",
                       "of each feasible method at the two budgets, at granularity node"),
           integer_key("processes.ladder", 5, at_least(1), "processes",
                       "of each feasible method at each rung of the ladder"),
           text_key("ladder.workload", "", "the workload that is also measured over a ladder of budgets; empty: none"),
           integer_key("ladder.rungs", 6, at_least(2), "budgets", "budgets of the ladder"),
           text_key("map.workload", "", "the row_memory workload of the map; empty: no map"),
           text_key("map.overrides", "",
                    "key=value words for its cells: smaller sizes, so that large tables fit the machine"),
           numbers_key("map.table_ratios", {0.0625, 0.125, 0.25, 0.5, 1, 2, 4}, above(0), "",
                       "bytes of the table over those of the activations"),
           numbers_key("map.written_shares", {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1}, above_to(0, 1), "",
                       "share of the table's rows that a segment writes"),
           words_key("map.measured", {}, {}, "cells that are measured too, as RATIO/SHARE"),
           integer_key("map.processes", 3, at_least(1), "processes", "of each method at a measured cell"),
           text_key("targets.workload", "", "the workload that the two targets are for; empty: none"),
           real_key("targets.joint_to_whole", 0.8, above(0), "",
                    "at most this at the budget `both`: step time of joint over that of retain+whole"),
           real_key("targets.joint_to_region", 0.92, above(0), "",
                    "at most this at the budget `tight`: step time of joint over that of region"),
           bytes_key("gpu.size", std::int64_t{1} << 36,
                     "what a step without recomputation holds at the size meant for a GPU"),
           map_key("gpu.overrides", {}, "by workload: key=value words that scale it to that size; not run here"),
       }) {
    keys.push_back(std::move(key));
  }
  return keys;
}

/// Planning's first look at a workload: its times, and what a process takes besides its steps. The profile is taken
/// with everything replayed, so that replays are measured too.
Json run_profile(const Json& work, const std::filesystem::path& folder) {
  Config config = load_config((folder / std::string(work.at("config"))).string());
  Profile profile = profile_of(config, "region");
  config.set("recompute.method", std::string("retain"), "the study");
  double begin = bench::wall_seconds();
  print_of(config);  // as reading a plan does
  MeasuredRun run = measure_run(config, nullptr, 0, 1);
  return {{"profile", to_json(profile)}, {"setup_s", bench::wall_seconds() - begin - run.wall_s.front()}};
}

class SparseWrite final : public StudyType {
 public:
  void check(const Config& study) const override {
    for (const std::string& name : workload_names(study)) workload_config(study, name);
    for (const std::string& method : methods_of(study)) {
      if (!allowed_by(method))
        throw study.error_at("methods", "expected methods among {}, got '{}'", fmt::join(plannable_methods(), ", "),
                             method);
    }
    for (const std::string& granularity : study.get_list("granularities")) {
      if (granularity != "segment" && granularity != "node")
        throw study.error_at("granularities", "expected segment or node, got '{}'", granularity);
    }
    for (const char* key :
         {"overrides", "processes.of", "fingerprints.config", "fingerprints.trace", "gpu.overrides"}) {
      for (const auto& [name, value] : study.get_map(key))
        require_workload(study, key, name, study.entry_position(key, name));
    }
    for (const auto& [name, value] : study.get_map("processes.of")) {
      if (value.empty() || value.size() > 6 || value.find_first_not_of("0123456789") != std::string::npos ||
          value == "0") {
        throw study.error_at_entry("processes.of", name, "expected a number of processes, at least 1, got '{}'", value);
      }
    }
    if (const std::string& name = study.get_string("ladder.workload"); !name.empty()) {
      require_workload(study, "ladder.workload", name, study.position("ladder.workload"));
    }
    for (const auto& [name, overrides] : study.get_map("gpu.overrides")) gpu_config(study, name, overrides);
    check_map(study);
  }

  Planned plan(const Workshop& workshop) const override { return plan_sparse_write(workshop); }

  Json run(const Json& work, const std::filesystem::path& folder) const override {
    std::string what = work.at("do");
    if (what == "profile") return run_profile(work, folder);
    if (what == "process") return run_process(work, folder);
    if (what == "map") return run_map_cell(work, folder);
    if (what == "map_process") return run_map_process(work, folder);
    fail(ErrorKind::user, "[study] expected work that the study sparse_write knows, got '{}'", what);
  }

  Analysis analyse(const Config& study, const std::vector<Record>& records) const override {
    return analyse_sparse_write(study, records);
  }

  std::vector<std::string> kinds() const override { return {"process", "map", "map_measured"}; }
  void require_frozen(const Config& study) const override { require_all_frozen(study); }
  std::string fingerprints(const Config& study) const override { return fingerprint_section(study); }

  std::string gpu_sizes(const Config& study) const override {
    std::string text;
    for (const auto& [name, overrides] : study.get_map("gpu.overrides")) {
      std::int64_t peak = trace_step(gpu_config(study, name, overrides)).step.total_peak;
      text += fmt::format("{}: a step holds {} ({} bytes) without recomputation\n", name, short_bytes(peak), peak);
      double off = static_cast<double>(peak) / static_cast<double>(study.get_bytes("gpu.size").value_or(peak)) - 1;
      if (std::abs(off) > 0.1) {
        throw study.error_at_entry("gpu.overrides", name,
                                   "expected a step that holds about {} without recomputation, it holds {}",
                                   short_bytes(*study.get_bytes("gpu.size")), short_bytes(peak));
      }
    }
    return text;
  }

 private:
  static void require_workload(const Config& study, const std::string& key, const std::string& name,
                               const Position& position) {
    Words names = workload_names(study);
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    fail_config(position, "{}: expected one of the workloads {}, got '{}'", key, fmt::join(names, ", "), name);
  }

  static Config gpu_config(const Config& study, const std::string& name, const std::string& overrides) {
    Config config = workload_config(study, name, split_overrides(overrides));
    config.set("recompute.method", std::string("retain"), "the study");
    return config;
  }
};

}  // namespace

const Words& methods_of(const Config& study) { return study.get_list("methods"); }

Json run_process(const Json& work, const std::filesystem::path& folder) {
  std::vector<std::string> overrides;
  for (const Json& word : work.at("overrides")) overrides.push_back(word);
  Config config = load_config((folder / std::string(work.at("config"))).string(), overrides);
  config.set("recompute.plan", (folder / std::string(work.at("plan"))).string(), "the study");
  MadePlan made = make_plan(config);
  return to_json(measure_run(config, made.plan, work.at("warmup_steps"), work.at("timed_steps")));
}

RegisteredType sparse_write_type() {
  return {{.name = "sparse_write",
           .summary = "training steps that write a little of a large state, under every method, in fresh processes",
           .keys = study_keys(),
           .defaults = {}},
          [] { return std::make_unique<SparseWrite>(); }};
}

}  // namespace reprise::study
