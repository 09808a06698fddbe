// A dry step: the model of a configuration recorded for one step without bytes, under its segments and method. What
// `reprise contract` and `reprise explain` show, and what plans are made from.
//
// Everything a training step holds is there: parameters, gradients, optimiser state, model state and the loader's batch
// slots; so the peak of the meter is the peak_bytes of training.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory/meter.h"
#include "models/config/config.h"
#include "recompute/contract.h"
#include "recompute/planning/plan.h"

namespace reprise {

struct TracedStep {
  std::vector<ContractSet> micro_batches;  // as each stood between its forward and its backward
  std::vector<std::string> segments;       // the names that are marked
  std::string method;
  MeterSnapshot before;         // what is live before the step
  MeterSnapshot after_forward;  // of the first micro-batch
  bool exact = true;            // false where sizes depend on data
  MeterSnapshot step;           // its peaks are those of the step
};

struct TraceOptions {
  /// Called for each micro-batch between forward and backward, for instance to read more from the tape.
  std::function<void(Tape&, std::int64_t micro_batch)> after_forward;
  /// Called right before the first forward that is measured, and after the last backward.
  std::function<void(Tape&)> begin;
  std::function<void()> end;
  std::shared_ptr<const Plan> plan;  // to run under, or null
};

/// Builds the model of `config` in memory without bytes and records one step: train.accumulate times forward and
/// backward. Reads no images and heeds no budget. Errors: config and user, as in training.
TracedStep trace_step(const Config& config, const TraceOptions& options = {});

/// The keys that shape a step, with their values as text: model.*, recompute.*, the batch, the optimiser's state, ...;
/// without outside_prints() keys that stand at their default.
std::vector<std::pair<std::string, std::string>> step_keys(const Config& config);

/// "dense_queue, batch 128, method region, 8 segments marked".
std::string step_title(const Config& config, const TracedStep& traced);

}  // namespace reprise
