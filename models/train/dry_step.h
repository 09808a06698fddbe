// DryStep: a twin of a configuration's model on memory without bytes, with all that a training step holds (parameters,
// gradients, optimiser state, the loader's slots), so that one micro-batch can be recorded again and again. What
// schedules, traces and plans are made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/session.h"
#include "recompute/planning/plan.h"
#include "recompute/planning/walk.h"

namespace reprise {

class DryStep {
 public:
  /// `config` outlives it; so does `plan`, which planned methods need before they can be traced (may be null when
  /// only walker() is used). Errors: config.
  explicit DryStep(const Config& config, std::shared_ptr<const Plan> plan = nullptr, bool timeline = false);

  Tape& tape() { return tape_; }
  Memory& memory() { return memory_; }
  TrainableModel& model() { return *model_; }
  const SegmentMarks& marks() const { return marks_; }
  RecomputeSetup& recompute() { return recompute_; }

  /// Records the forward of one micro-batch that begins in the host state of begin_in(), or where the last one ended.
  Forward forward();
  /// Every following forward begins in this host state (TrainableModel::host_state).
  void begin_in(const std::vector<std::int64_t>& host_state) { begin_ = host_state; }
  /// Host states in which micro-batches of a run may begin: from `first` on until they repeat, at most `most`.
  std::vector<std::vector<std::int64_t>> reachable(const std::vector<std::int64_t>& first, std::size_t most = 256);
  const std::vector<std::int64_t>& first_state() const { return first_; }

  /// A walker over this step. The tape's policy becomes the walker's.
  Walker walker();

 private:
  const Config& config_;
  Memory memory_;
  std::unique_ptr<TrainableModel> model_;
  SegmentMarks marks_;
  RecomputeSetup recompute_;
  Optimiser optimiser_;
  std::vector<Batch> slots_;
  Tape tape_;
  std::vector<std::int64_t> first_, begin_;
  std::size_t next_slot_ = 0;
};

}  // namespace reprise
