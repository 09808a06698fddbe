#include "tools/report/trace_memory.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/error.h"
#include "data/atomic_file.h"
#include "data/folder.h"
#include "data/text_file.h"
#include "models/config/config.h"
#include "models/run/json_text.h"
#include "models/train/make_plan.h"
#include "models/train/step_timeline.h"
#include "models/train/trace_step.h"
#include "recompute/planning/planner.h"

namespace reprise::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCompared = ".both.segment.";  // in names of plans at the budget that all methods are compared at

/// The plan of the method at that budget, or its one plan of an application; empty where there is none.
fs::path plan_of(const fs::path& study, const std::string& workload, const std::string& method) {
  std::error_code error;
  for (const char* place : {kCompared, "."}) {
    fs::path file = study / "plans" / (workload + place + method + ".json");
    if (fs::is_regular_file(file, error)) return file;
  }
  return {};
}

constexpr std::int64_t kMostOfPlan = 1 << 30;

/// The plan to trace; none for a fixed method that the study has none of, or where there is nothing to make one from.
std::shared_ptr<const Plan> traced_plan(const fs::path& study, const Config& config, const std::string& workload,
                                        const std::string& method, const fs::path& file) {
  if (!file.empty())
    return std::make_shared<const Plan>(plan_from_json(read_text_file(file, "report", kMostOfPlan), file.string()));
  fs::path profile = study / "plans" / (workload + ".profile.json");
  std::error_code error;
  if (!is_planned(method) || !fs::is_regular_file(profile, error)) return nullptr;
  std::string text = read_text_file(profile, "report", kMostOfPlan);
  return std::make_shared<const Plan>(RunPlanner(config, profile_from_json(text, profile.string())).least(method));
}

/// What a report draws of a timeline.
Json drawn_of(const StepTimeline& timeline) {
  Json all = timeline_json(timeline), drawn;
  for (const char* key : {"before", "delta", "category"}) drawn[key] = std::move(all[key]);
  return drawn;
}

/// What extra/ holds of one method; nothing for one that needs a plan and of which none can be made.
std::optional<Json> memory_of(const fs::path& study, const std::string& workload, const std::string& method) {
  fs::path plan = plan_of(study, workload, method);
  Config config = load_config((study / "workloads" / (workload + ".yaml")).string());
  config.set("recompute.method", method, "the report");
  config.set("recompute.granularity", std::string("segment"), "the report");
  TraceOptions options;
  options.plan = traced_plan(study, config, workload, method, plan);
  if (!options.plan && is_planned(method)) return std::nullopt;
  std::int64_t budget = 0;
  if (!plan.empty()) {
    // An application runs its fixed methods without a budget; that of their plan is what they need.
    bool compared = plan.filename().string().find(kCompared) != std::string::npos;
    budget = compared || is_planned(method) ? options.plan->budget : 0;
  }
  StepRecorder recorder;
  StepTimeline timeline;
  options.begin = [&](Tape& tape) { recorder.begin(tape); };
  options.end = [&] { timeline = recorder.end(); };
  TracedStep traced = trace_step(config, options);
  return Json{{"title", step_title(config, traced)},
              {"workload", workload},
              {"method", method},
              {"budget_bytes", budget > 0 ? Json(budget) : Json()},
              {"memory", {{"predicted", drawn_of(timeline)}}}};
}

std::vector<std::string> workloads_of(const fs::path& study) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::path& path : paths_in(study / "workloads", error)) {
    std::string name = path.stem().string();
    if (path.extension() == ".yaml" && name != "map") names.push_back(name);  // cells of a map have sizes of their own
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) {
    fail(ErrorKind::user, "[report] --memory: expected the folder of a study with its workloads/ and plans/, got {}",
         study.string());
  }
  return names;
}

}  // namespace

std::vector<fs::path> trace_memory(const fs::path& study) {
  std::vector<fs::path> written;
  std::vector<std::string> workloads = workloads_of(study);
  make_output_folder(study / "extra", "report");
  for (const std::string& workload : workloads) {
    for (const std::string& method : plannable_methods()) {
      fs::path file = study / "extra" / (workload + "." + method + ".json");
      std::error_code error;
      if (fs::exists(file, error)) continue;
      std::optional<Json> memory = memory_of(study, workload, method);
      if (!memory) continue;
      write_file_atomically(file, json_line(*memory) + "\n");
      written.push_back(file);
    }
  }
  return written;
}

}  // namespace reprise::report
