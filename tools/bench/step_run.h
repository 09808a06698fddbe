// StepRun: a model with everything that one training step needs, its inputs already in memory, so that a bench can run
// steps and look at the tape between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/registry.h"
#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/step_planner.h"
#include "tools/bench/bench.h"

namespace reprise::bench {

/// The dense-queue model; `segments` as recompute.segments ("none", "blocks", or what residual_blocks() gives).
Config step_config(const BenchOptions& options, const std::string& method, const std::string& segments);

/// The encoder's residual blocks as recompute.segments: what the peer's script checkpoints, which "blocks" exceeds by
/// stem and head.
std::string residual_blocks(const BenchOptions& options);

/// --preset, --threads and --batch of the step, as this program and the peer's cifar_step.py take them.
std::vector<std::string> step_words(const BenchOptions& options);

class StepRun {
 public:
  /// `scheduled`: each step follows a schedule made from a dry trace, as every step of `reprise train` does; else it is
  /// recorded as it comes, so that a bench may look in between.
  explicit StepRun(Config config, bool scheduled = false);

  /// Forward, loss, backward, optimiser with the average, enqueue.
  void step();
  /// The parts of step(), for benches that look in between.
  Value forward();
  void finish(const Value& loss);

  Tape& tape() { return *tape_; }
  Memory& memory() { return memory_; }
  TrainableModel& model() { return *model_; }
  RecomputeSetup& recompute() { return *recompute_; }
  /// Highest live bytes of one step, by the meter.
  std::int64_t peak_of_a_step();

 private:
  Config config_;
  std::unique_ptr<StepPlanner> planner_;  // null unless scheduled
  Memory memory_;
  std::unique_ptr<TrainableModel> model_;
  std::unique_ptr<SegmentMarks> marks_;
  std::unique_ptr<RecomputeSetup> recompute_;
  std::unique_ptr<Optimiser> optimiser_;
  std::unique_ptr<Tape> tape_;
  Batch batch_;
  std::int64_t steps_ = 0;
};

}  // namespace reprise::bench
