// BareSteps: training steps of a configuration's model and nothing around them: batches of noise in place of the
// loader, no metrics, no checkpoints. What profiles and studies measure; memory is what training holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/session.h"
#include "models/train/step_planner.h"

namespace reprise {

class BareSteps {
 public:
  /// `config` outlives it; `plan` is what a planned method has chosen, else null. Errors: config, memory.
  BareSteps(const Config& config, const std::shared_ptr<const Plan>& plan);

  /// Makes the schedule of the next step, which a run makes once: call it before a step's time begins.
  void make_schedule() { planner_.schedule(session_.model->host_state()); }
  void clear_gradients() { optimiser_.clear_gradients(); }
  /// Forward and backward of the step's micro-batches, gradients cleared first. Returns the sum of their losses.
  double backward();
  /// The optimiser's step and the model's own work after it.
  void update(double learning_rate);

  Tape& tape() { return tape_; }
  TrainableModel& model() { return *session_.model; }
  Optimiser& optimiser() { return optimiser_; }
  /// Steps that were finished.
  std::int64_t count() const { return count_; }
  /// Highest live bytes of all steps.
  std::int64_t peak() { return session_.memory.meter().peak(); }

 private:
  ModelSession session_;
  SegmentMarks marks_;
  RecomputeSetup recompute_;
  Optimiser optimiser_;
  std::vector<Batch> slots_;
  Tape tape_;
  StepPlanner planner_;
  std::int64_t accumulate_ = 1, count_ = 0;
  std::size_t next_ = 0;
};

}  // namespace reprise
