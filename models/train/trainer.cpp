#include "models/train/trainer.h"

#include <cstdio>
#include <map>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "data/atomic_file.h"
#include "data/folder.h"
#include "data/safetensors.h"
#include "models/eval/features.h"
#include "models/train/best_metric.h"
#include "models/train/budget.h"
#include "models/train/checkpoint.h"
#include "models/train/summary.h"
#include "models/train/training_run.h"
#include "ops/registry.h"

namespace reprise {

namespace fs = std::filesystem;

namespace {

/// The plan that an earlier part of the run went by, where it still fits; else a new one.
MadePlan plan_of_run(const Config& config, const fs::path& resumed, Progress& progress) {
  auto note = [&](const std::string& text) { progress.note(text); };
  std::error_code error;
  fs::path kept = resumed / kPlanFile;
  if (resumed.empty() || !needs_plan(config) || !fs::exists(kept, error)) return make_plan(config, note);
  if (auto plan = read_plan_if_it_fits(config, kept)) return {std::move(plan), std::nullopt};
  return make_plan(config, note);
}

/// A run that has a checkpoint takes its values from there. Others that are asked for would be left aside in silence.
void refuse_other_values(const Config& config, const fs::path& folder) {
  const std::string& init = config.get_string("model.init");
  if (init.empty() || init == RunFolder::read_config(folder).get_string("model.init")) return;
  throw config.error_at("model.init",
                        "expected no other weights than those of the checkpoint in {}. `reprise train CONFIG "
                        "model.init=...` begins a new run with them; `reprise eval {} --best` evaluates {}",
                        folder.string(), folder.string(), kBestFile);
}

/// Whether there is anything to evaluate, before images are read for it. Errors (user): there is not.
void require_weights(const fs::path& folder, bool best) {
  std::error_code error;
  if (best && !fs::exists(folder / kBestFile, error)) {
    fail(ErrorKind::user, "[eval] expected {} in {}, got none. A run keeps it where train.keep_best names a metric",
         kBestFile, folder.string());
  }
  if (!best && !read_state(folder))
    fail(ErrorKind::user, "[eval] expected a run with a checkpoint, {} has none yet", folder.string());
}

/// What the run itself is made of: nothing else is written over it.
std::vector<fs::path> files_of_run(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths_in(folder, "eval")) {
    std::string name = path.filename().string();
    if (path.extension() == ".safetensors" || name.starts_with("state") || name == "config.yaml" ||
        name == "metrics.jsonl")
      files.push_back(path);
  }
  return files;
}

/// Fills the model from the newest checkpoint; what eval.json says of it.
Json load_newest(const fs::path& folder, const Config& config, Session& session) {
  auto saved = read_state(folder);
  if (!saved) fail(ErrorKind::user, "[eval] expected a run with a checkpoint, {} has none any more", folder.string());
  Optimiser optimiser(config, *session.model, session.memory);
  std::vector<NamedTensor> tensors = session.model->tensors();
  optimiser.list(tensors);
  load_checkpoint(folder, *saved, session.model_name(), tensors);
  return {{"step", (*saved)["step"]}};
}

/// Fills the model with the weights that train.keep_best kept; what eval.json says of them.
Json load_best(const fs::path& folder, Session& session, Progress& progress) {
  fs::path path = folder / kBestFile;
  load_initial(path, session.model->tensors());
  std::map<std::string, std::string> said = SafetensorsFile(path).metadata();
  progress.note(
      fmt::format("{}: the weights of step {}, with {} {}", kBestFile, said["step"], said["metric"], said["value"]));
  Json step = Json::parse(said["step"], nullptr, false);
  return {{"step", step.is_number_integer() ? step : Json()}, {"weights", kBestFile}};
}

}  // namespace

TrainOutcome train(Config& config, const TrainOptions& options) try {
  return within_budget(config, [&] {
    Progress progress(options.progress, config.get_int("train.log_every"));
    set_thread_count(thread_count_of(config));
    register_builtin_ops();
    MadePlan made = plan_of_run(config, options.resume, progress);
    StepPlanner planner(config, made.plan);
    check_budget(config, planner);
    TrainingRun run(config, planner, made, progress);
    bool resumed = !options.resume.empty();
    // A run that goes on has its values in its own checkpoint; the other one may be gone by then.
    if (!resumed || !read_state(options.resume)) {
      run.start_from_checkpoint();
    } else {
      refuse_other_values(config, options.resume);
    }
    RunFolder folder =
        resumed ? RunFolder::resume(options.resume, config.get_seconds("run.lock_wait")) : RunFolder::create(config);
    return run.go(folder, resumed);
  });
} catch (const Interrupted& stop) {
  return {Ending::interrupted, fmt::format("interrupted while {}", stop.doing), {}, {}};
}

TrainOutcome evaluate_run(const fs::path& folder, const Config& config, const EvaluateOptions& options) try {
  return within_budget(config, [&]() -> TrainOutcome {
    fs::path output = options.output.empty() ? folder / "eval.json" : options.output;
    check_output(output, "eval", files_of_run(folder));
    refuse_other_values(config, folder);
    require_weights(folder, options.best);
    Session session(config);
    // The figures have the standard output to themselves where they go there.
    Progress progress(options.progress, 1, is_standard_output(output) ? stderr : stdout);
    Json report = options.best ? load_best(folder, session, progress) : load_newest(folder, config, session);
    report["data"] = session.data.origin;
    Json figures = session.model->evaluate({config, session.data, session.memory, &progress});
    progress.finish();
    for (const std::string& line : session.model->describe(figures)) progress.note(line);
    if (figures.is_object()) report.update(figures);  // a model may have nothing to say
    write_output(output, json_pretty(report));
    return {Ending::finished, "", folder, std::move(report)};
  });
} catch (const Interrupted&) {
  return {Ending::interrupted, "interrupted; nothing was changed", folder, {}};
}

}  // namespace reprise
