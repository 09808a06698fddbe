// summary.json: the figures of a run as nested objects.
// Called by the trainer; scripts rely on the names.
#pragma once

#include <cstdint>
#include <string>

#include "models/config/config.h"
#include "models/train/run_state.h"
#include "recompute/planning/plan.h"

namespace reprise {

struct SummaryInputs {
  const Config& config;
  const RunState& state;
  std::string method;               // of recomputation
  std::int64_t predicted_peak = 0;  // bytes, by the schedules
  const Plan* plan = nullptr;       // of a planned method
  std::int64_t steps = 0;           // planned
  int threads = 1;
  Json hash;  // of the trained parameters, of everything in the checkpoint, and of what was predicted for test images
  double evaluation_seconds = 0;
  Json best = nullptr;  // of train.keep_best
  bool images = true;   // what batches are made of; false: examples of the model's own
  std::string name;     // of the configuration; a resumed run's own file is config.yaml for all
};

/// `figures` are what the model's evaluation returned; their keys join the summary's. The fixed names are all there:
/// what does not apply is null. A model without images has no probe, and counts examples where others count images.
Json make_summary(const SummaryInputs& inputs, const Json& figures);

}  // namespace reprise
