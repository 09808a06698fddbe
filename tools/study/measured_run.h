// One measuring process of a study: trains a model of its own on images of noise for a few steps, under a stored plan
// inside its budget, and takes down time, memory and the hashes of what must not depend on the method.
// Called in a fresh process, once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/config/config.h"
#include "models/run/json_text.h"
#include "recompute/planning/plan.h"

namespace reprise::study {

struct MeasuredRun {
  std::vector<double> wall_s, cpu_s;         // of each timed step; CPU time of all threads
  std::int64_t peak_bytes = 0;               // highest live bytes of all steps, warm-up too
  std::int64_t rss_peak_bytes = 0;           // highest resident size of the process
  std::string gradients, parameters, state;  // hashes; gradients of the last step, before the optimiser
  double setup_s = 0;                        // from the call to the first step
};

/// `plan` may be null for a fixed method. A step is forward, backward, optimiser and the model's own work after it, at
/// the learning rate train.lr; its schedule is made before its time begins, and hashing is not in it. Errors: config,
/// memory; user (the loss is not finite).
MeasuredRun measure_run(const Config& config, const std::shared_ptr<const Plan>& plan, int warmup_steps,
                        int timed_steps);

/// The fields that a record takes from it.
Json to_json(const MeasuredRun& run);

}  // namespace reprise::study
