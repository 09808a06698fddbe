// `reprise eval`: evaluates the newest checkpoint of a run.
#include <cstdio>
#include <memory>

#include "core/interrupt.h"
#include "models/run/run_folder.h"
#include "models/train/trainer.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kEvalHelp =
    R"(Loads the newest checkpoint of the run in RUN and evaluates it on the test images: a linear probe for a contrastive
encoder, the accuracy for a classifier. Prints the figures and writes them to RUN/eval.json, or where -o says. key=value
changes a key of the run's configuration for this evaluation only.

With --best it takes the weights that the run kept by train.keep_best instead of the newest ones.

Examples:
  reprise eval runs/cifar100_dense_queue
  reprise eval runs/cifar100_dense_queue --best -o best.json
  reprise eval runs/cifar100_dense_queue probe.epochs=60 data.path=cifar-100-binary.tar.gz)";

struct EvalOptions {
  std::string folder;
  std::vector<std::string> overrides;
  std::string output;
  bool best = false, quiet = false;
};

int run(const EvalOptions& options) {
  Config config = RunFolder::read_config(options.folder, number_as_typed(options.overrides));
  TrainOutcome outcome =
      evaluate_run(options.folder, config,
                   {options.best, options.output, options.quiet ? ProgressMode::quiet : ProgressMode::automatic});
  if (outcome.ending == Ending::finished) return 0;
  std::fprintf(stderr, "%s\n", outcome.message.c_str());
  return kInterruptedExitCode;
}

}  // namespace

Verb eval_verb() {
  return {"eval", "evaluate the newest checkpoint of a run", kEvalHelp, [](Command& app) -> VerbAction {
            auto options = std::make_shared<EvalOptions>();
            app.add_option("run", options->folder, "the folder of a run").option_text("RUN").required();
            app.add_option("overrides", options->overrides, "key=value to change keys")
                .option_text("[key=value...]")
                .expected(0, -1);
            app.add_flag("--best", options->best, "the weights in RUN/best.safetensors (train.keep_best)");
            app.add_option("-o,--output", options->output, "where the figures go as JSON (RUN/eval.json)")
                .option_text("FILE");
            app.add_flag("--quiet", options->quiet, "print nothing but errors");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
