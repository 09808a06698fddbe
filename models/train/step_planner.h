// StepPlanner: schedules of a configuration's micro-batches, from dry traces of a twin of its model. Every trained and
// checked step follows one; a host state that moves the regions of a step (a ring's pointer) has a schedule of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/session.h"
#include "recompute/plan_step.h"

namespace reprise {

class StepPlanner {
 public:
  /// `config` outlives it. Errors: config.
  explicit StepPlanner(const Config& config);

  /// The schedule of a micro-batch that finds the model's host state (TrainableModel::host_state) as given. Valid until
  /// the next call.
  const Schedule& schedule(const std::vector<std::int64_t>& host_state);

 private:
  const Config& config_;
  Memory memory_;
  std::unique_ptr<TrainableModel> model_;
  SegmentMarks marks_;
  RecomputeSetup recompute_;
  Optimiser optimiser_;
  Batch batch_;
  Tape tape_;
  std::map<std::vector<std::int64_t>, Schedule> schedules_;
};

}  // namespace reprise
