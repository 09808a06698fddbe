// The map: where does it pay off to preserve by region? A grid of sizes of the table against shares of it that a
// segment writes. Each cell is profiled and planned at its own size, at the smallest budget at which all three methods
// have a plan, plus 2 %; some cells are measured under these plans.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <sstream>

#include "data/atomic_file.h"
#include "models/train/make_plan.h"
#include "models/train/trace_step.h"
#include "tools/study/measured_run.h"
#include "tools/study/sparse_write.h"
#include "tools/study/tasks.h"
#include "tools/study/workload.h"

namespace reprise::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMapMethods[] = {"retain+whole", "region", "joint"};
constexpr const char* kMapFile = "workloads/map.yaml";
constexpr std::uint64_t kMapStream = 0x6d6170;  // "map"

struct MapCell {
  double table_ratio = 0, written_share = 0;
  std::string name() const { return fmt::format("{}/{}", table_ratio, written_share); }
  std::string plan_file(const std::string& method) const {
    return fmt::format("plans/map/{}_{}.{}.json", table_ratio, written_share, method);
  }
};

std::vector<MapCell> cells_of(const Config& study) {
  std::vector<MapCell> cells;
  for (double ratio : study.get_numbers("map.table_ratios")) {
    for (double share : study.get_numbers("map.written_shares")) cells.push_back({ratio, share});
  }
  return cells;
}

Config map_config(const Config& study) {
  Config config =
      workload_config(study, study.get_string("map.workload"), split_overrides(study.get_string("map.overrides")));
  config.set("recompute.longest_run", std::int64_t{1}, "the study");
  config.set("recompute.granularity", std::string("segment"), "the study");
  return config;
}

/// Bytes of activations that a step without recomputation holds at most.
std::int64_t activation_bytes(Config config) {
  config.set("recompute.method", std::string("retain"), "the study");
  return trace_step(config).step.peak[static_cast<std::size_t>(Category::activations)];
}

std::vector<std::string> sizes_of(const MapCell& cell, std::int64_t activations, std::int64_t row_bytes) {
  auto rows = std::max<std::int64_t>(
      1, std::llround(cell.table_ratio * static_cast<double>(activations) / static_cast<double>(row_bytes)));
  auto writes = std::clamp<std::int64_t>(std::llround(cell.written_share * static_cast<double>(rows)), 1, rows);
  return {fmt::format("model.table.rows={}", rows), fmt::format("model.writes={}", writes)};
}

std::vector<std::string> words_of(const Json& list) {
  std::vector<std::string> words;
  for (const Json& word : list) words.push_back(word);
  return words;
}

Plan read_plan(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf()))
    fail(ErrorKind::user, "[study] expected the plan {} of this cell of the map, cannot read it", file.string());
  return plan_from_json(text.str(), file.string());
}

/// One task for each measured cell, block and method.
std::vector<Task> measured_tasks(const Config& study, const std::vector<Task>& cells, double expected_s) {
  std::vector<const Task*> chosen;
  for (const Task& cell : cells) {
    const Words& measured = study.get_list("map.measured");
    if (std::find(measured.begin(), measured.end(), cell.id.substr(4)) != measured.end()) chosen.push_back(&cell);
  }
  auto seed = static_cast<std::uint64_t>(study.get_int("seed"));
  std::vector<std::int64_t> counts(chosen.size(), study.get_int("map.processes"));
  std::vector<Task> tasks;
  std::uint64_t stream = kMapStream << 32;
  for (const auto& [index, block] : interleaved_blocks(counts, seed + kMapStream)) {
    const Task& cell = *chosen[index];
    for (std::size_t at : random_order(std::size(kMapMethods), seed, ++stream)) {
      Task task = cell;
      std::string method = kMapMethods[at], name = cell.id.substr(4);
      task.kind = "map_measured";
      task.id = fmt::format("map_measured/{}/{}/{}", name, method, block);
      task.label = fmt::format("map at {}, {}, block {} of {}", name, method, block + 1, counts[index]);
      task.block = block;
      task.expected_s = expected_s;
      task.fields["method"] = method;
      task.fields["granularity"] = "segment";
      task.fields["warmup_steps"] = study.get_int("steps.warmup");
      task.work["do"] = "map_process";
      task.work["method"] = method;
      task.work["warmup_steps"] = study.get_int("steps.warmup");
      task.work["timed_steps"] = study.get_int("steps.timed");
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

MapCell cell_of(const Json& work) { return {work.at("table_ratio"), work.at("written_share")}; }

}  // namespace

void check_map(const Config& study) {
  if (study.get_string("map.workload").empty()) return;
  Words names = workload_names(study);
  if (std::find(names.begin(), names.end(), study.get_string("map.workload")) == names.end()) {
    throw study.error_at("map.workload", "expected one of the workloads");
  }
  Config config = map_config(study);
  if (!config.has("model.table.rows") || !config.has("model.writes")) {
    throw study.error_at("map.workload",
                         "expected a workload with model.table.rows and model.writes, it is of model.type {}",
                         config.get_string("model.type"));
  }
  std::vector<MapCell> cells = cells_of(study);
  for (const std::string& measured : study.get_list("map.measured")) {
    bool known = std::any_of(cells.begin(), cells.end(), [&](const MapCell& cell) { return cell.name() == measured; });
    if (!known)
      throw study.error_at("map.measured",
                           "expected cells RATIO/SHARE of map.table_ratios and map.written_shares, got '{}'", measured);
  }
}

std::vector<Task> map_tasks(const Workshop& workshop, std::int64_t order) {
  const Config& study = workshop.study();
  if (study.get_string("map.workload").empty()) return {};
  Config config = map_config(study);
  std::int64_t activations = activation_bytes(config), row_bytes = config.get_int("model.table.width") * 4;
  workshop.store(kMapFile, config.to_yaml());
  workshop.note("profiling the map's largest cell");
  auto start = std::chrono::steady_clock::now();
  MapCell largest{study.get_numbers("map.table_ratios").back(), study.get_numbers("map.written_shares").back()};
  workshop.run_fresh({{"do", "map"},
                      {"table_ratio", largest.table_ratio},
                      {"written_share", largest.written_share},
                      {"overrides", sizes_of(largest, activations, row_bytes)}});
  // Most cells are smaller and take about half as long.
  double expected_s = 0.5 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<Task> tasks;
  for (const MapCell& cell : cells_of(study)) {
    Task task;
    task.kind = "map";
    task.id = "map/" + cell.name();
    task.label = "map at " + cell.name();
    task.expected_s = expected_s;
    task.fields = {
        {"table_ratio", cell.table_ratio}, {"written_share", cell.written_share}, {"activation_bytes", activations}};
    task.work = {{"do", "map"},
                 {"table_ratio", cell.table_ratio},
                 {"written_share", cell.written_share},
                 {"overrides", sizes_of(cell, activations, row_bytes)}};
    tasks.push_back(std::move(task));
  }
  for (Task& task : measured_tasks(study, tasks, expected_s)) tasks.push_back(std::move(task));
  for (Task& task : tasks) task.order = order++;
  return tasks;
}

Json run_map_cell(const Json& work, const fs::path& folder) {
  Config config = load_config((folder / kMapFile).string(), words_of(work.at("overrides")));
  RunPlanner planner(config, profile_of(config, "region"));
  Json smallest, seconds, peaks;
  std::int64_t least = 0;
  for (const char* method : {"retain+whole", "region"}) {  // joint may do what either does
    std::int64_t bytes = planner.least(method).predicted_peak;
    smallest[method] = bytes;
    least = std::max(least, bytes);
  }
  std::int64_t budget = least + (least + 49) / 50;
  make_output_folder(folder / "plans/map", "study");
  for (const char* method : kMapMethods) {
    Planner::Answer answer = planner.plan(method, budget);
    if (!answer.plan)
      fail(ErrorKind::internal, "[study] expected a plan of {} at its smallest budget plus 2 %, got none", method);
    seconds[method] = static_cast<double>(answer.plan->predicted_ns) * 1e-9;
    peaks[method] = answer.plan->predicted_peak;
    write_file_atomically(folder / cell_of(work).plan_file(method), to_json(*answer.plan));
  }
  return {{"budget_bytes", budget},
          {"predicted_s", seconds},
          {"predicted_peak_bytes", peaks},
          {"smallest_feasible", smallest},
          {"table_rows", config.get_int("model.table.rows")},
          {"written_rows", config.get_int("model.writes")}};
}

Json run_map_process(const Json& work, const fs::path& folder) {
  fs::path file = folder / cell_of(work).plan_file(work.at("method"));
  std::int64_t budget = read_plan(file).budget;
  std::vector<std::string> overrides = words_of(work.at("overrides"));
  overrides.push_back("recompute.method=" + std::string(work.at("method")));
  overrides.push_back(fmt::format("memory.budget={}", budget));
  Config config = load_config((folder / kMapFile).string(), overrides);
  config.set("recompute.plan", file.string(), "the study");
  MadePlan made = make_plan(config);
  Json answer = to_json(measure_run(config, made.plan, work.at("warmup_steps"), work.at("timed_steps")));
  answer["budget_bytes"] = budget;
  answer["predicted_s"] = static_cast<double>(made.plan->predicted_ns) * 1e-9;
  answer["lower_bound_s"] = static_cast<double>(made.plan->lower_bound_ns) * 1e-9;
  answer["predicted_peak_bytes"] = made.plan->predicted_peak;
  return answer;
}

}  // namespace reprise::study
