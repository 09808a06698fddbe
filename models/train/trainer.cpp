#include "models/train/trainer.h"

#include "core/interrupt.h"
#include "core/parallel.h"
#include "models/eval/features.h"
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
    if (!resumed || !read_state(options.resume)) run.start_from_checkpoint();
    RunFolder folder =
        resumed ? RunFolder::resume(options.resume, config.get_seconds("run.lock_wait")) : RunFolder::create(config);
    return run.go(folder, resumed);
  });
} catch (const Interrupted& stop) {
  return {Ending::interrupted, fmt::format("interrupted while {}", stop.doing), {}, {}};
}

TrainOutcome evaluate_run(const fs::path& folder, const Config& config, ProgressMode mode) {
  return within_budget(config, [&]() -> TrainOutcome {
    auto saved = read_state(folder);
    if (!saved) fail(ErrorKind::user, "[eval] expected a run with a checkpoint, {} has none yet", folder.string());
    Session session(config);
    Optimiser optimiser(config, *session.model, session.memory);
    std::vector<NamedTensor> tensors = session.model->tensors();
    optimiser.list(tensors);
    load_checkpoint(folder, *saved, session.model_name(), tensors);
    Progress progress(mode);
    try {
      Json figures = session.model->evaluate({config, session.data, session.memory, &progress});
      progress.finish();
      for (const std::string& line : session.model->describe(figures)) progress.note(line);
      Json report = {{"step", (*saved)["step"]}, {"data", session.data.origin}};
      if (figures.is_object()) report.update(figures);  // a model may have nothing to say
      write_eval(folder, report);
      return {Ending::finished, "", folder, std::move(report)};
    } catch (const Interrupted&) {
      return {Ending::interrupted, "interrupted; nothing was changed", folder, {}};
    }
  });
}

}  // namespace reprise
