// `reprise train`: trains a model, evaluates it and leaves a run folder behind.
#include <cstdio>
#include <memory>

#include "core/interrupt.h"
#include "models/run/run_folder.h"
#include "models/train/trainer.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kTrainHelp =
    R"(Trains the model that CONFIG describes, evaluates it (a linear probe, or the accuracy on the test images) and leaves a
folder in runs/, or the one named by run.dir: config.yaml, metrics.jsonl, checkpoint.safetensors, state.json, summary.json,
and what TensorBoard reads (tensorboard=false leaves that out). trace=true adds trace.json of the first steps, for
ui.perfetto.dev. Without CONFIG every key has its default (`reprise config` prints them) and the folder is runs/run, or
runs/run-2 and so on where that is taken.

Without data.path it makes its own images. Ctrl-C, SIGTERM or SIGHUP finishes the step and writes a checkpoint; a second
one stops at once. A run that was stopped or killed goes on with --resume and ends with the same bytes as one that never
was.

Examples:
  reprise train configs/cifar100_dense_queue.yaml
  reprise train configs/cifar100_dense_queue.yaml data.path=cifar-100-binary.tar.gz train.epochs=20 run.dir=runs/real
  reprise train configs/cifar100_dense_queue.yaml recompute.method=region memory.budget=100MiB
  reprise train --resume runs/real

Exit codes: 0 done, 1 failure (a full disk, a loss that is not finite), 2 a mistake in what was asked for, 130 interrupted.)";

struct TrainArguments {
  ConfigArguments arguments;
  std::string resume;
  bool quiet = false;
};

Config load(const TrainArguments& options) {
  if (options.resume.empty()) return options.arguments.load();
  if (!options.arguments.file().empty()) {
    fail(ErrorKind::user, "[train] expected no configuration file beside --resume, got {}. The run has its own",
         options.arguments.file());
  }
  std::vector<OverrideText> overrides = options.arguments.overrides();
  Config config = RunFolder::read_config(options.resume, overrides);
  if (config.get_string("run.dir") != RunFolder::read_config(options.resume).get_string("run.dir")) {
    throw config.error_at("run.dir", "expected no other folder beside --resume, which goes on in {}", options.resume);
  }
  return config;
}

int run(const TrainArguments& options) {
  Config config = load(options);
  TrainOptions how;
  how.resume = options.resume;
  if (options.quiet) how.progress = ProgressMode::quiet;
  TrainOutcome outcome = train(config, how);
  switch (outcome.ending) {
    case Ending::finished: return 0;
    case Ending::interrupted: std::fprintf(stderr, "%s\n", outcome.message.c_str()); return kInterruptedExitCode;
    case Ending::diverged: std::fprintf(stderr, "error (not finite): %s\n", outcome.message.c_str()); return 1;
  }
  return 1;
}

}  // namespace

Verb train_verb() {
  return {"train", "train a model and leave a run folder", kTrainHelp, [](Command& app) -> VerbAction {
            auto options = std::make_shared<TrainArguments>();
            options->arguments.add_to(app);
            app.add_option("--resume", options->resume, "go on with the run in this folder").option_text("RUN");
            app.add_flag("--quiet", options->quiet, "print nothing but errors");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
