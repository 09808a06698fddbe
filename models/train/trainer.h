// The trainer: loader, model, optimiser and schedule in one loop, with metrics, checkpoints, evaluation and a summary.
//
// train() is what `reprise train` runs and what programs with models of their own call. A run that is killed and
// resumed ends with the same bytes and the same deterministic fields of metrics.jsonl as one that was not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "models/config/config.h"
#include "models/run/json_text.h"
#include "models/run/progress.h"

namespace reprise {

struct TrainOptions {
  /// The folder of a run to go on with; empty starts a new one. `config` is then that run's (RunFolder::read_config).
  std::filesystem::path resume;
  ProgressMode progress = ProgressMode::automatic;
};

enum class Ending : std::uint8_t {
  finished,
  interrupted,  // somebody asked to stop; the checkpoint of the last step is written
  diverged,     // a loss or a parameter is not finite; the last good checkpoint stays
};

struct TrainOutcome {
  Ending ending = Ending::finished;
  std::string message;           // of an ending that is not `finished`
  std::filesystem::path folder;  // of the run
  Json summary;                  // of a finished run: what summary.json holds
};

/// Trains, evaluates and leaves the run folder behind. Errors: config and user (mistakes in what was asked for, a
/// budget that is too small), io, memory, replay.
TrainOutcome train(Config& config, const TrainOptions& options = {});

struct EvaluateOptions {
  bool best = false;             // the weights that train.keep_best kept, instead of the newest checkpoint
  std::filesystem::path output;  // of the figures as JSON; empty: eval.json in the run folder
  ProgressMode progress = ProgressMode::automatic;
};

/// Loads the newest checkpoint of a run folder, or its best weights, and evaluates them: what `reprise eval` runs.
/// Errors as above; (user) when the run has no checkpoint yet or has kept no best weights, or the figures could not be
/// written or would replace a file of the run. With figures on the standard output ("-") all else goes to stderr.
TrainOutcome evaluate_run(const std::filesystem::path& folder, const Config& config,
                          const EvaluateOptions& options = {});

}  // namespace reprise
