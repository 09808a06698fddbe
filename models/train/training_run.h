// TrainingRun: everything that lives while a run trains, and its loop: steps, lines of metrics, evaluations,
// checkpoints. Made by train() (models/train/trainer.h), once a run. Between two steps the run folder is always one
// that can be resumed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/byte_hash.h"
#include "models/run/run_folder.h"
#include "models/train/batches.h"
#include "models/train/best_metric.h"
#include "models/train/learning_rate.h"
#include "models/train/make_plan.h"
#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/run_reports.h"
#include "models/train/run_state.h"
#include "models/train/session.h"
#include "models/train/step_planner.h"
#include "models/train/trainer.h"

namespace reprise {

class TrainingRun {
 public:
  /// Sets everything up; the run folder comes later, so that a mistake leaves none behind. Errors (config): the
  /// configuration asks for what its data or its model do not allow.
  TrainingRun(const Config& config, StepPlanner& planner, const MadePlan& made, Progress& progress)
      : config_(config),
        progress_(progress),
        session_(config),
        reports_(config),
        marks_(config, session_.model->segment_names()),
        made_(made),
        recompute_(config, marks_, made.plan),
        optimiser_(config, *session_.model, session_.memory),
        best_(config),
        batches_(*session_.model, session_.data.train, reports_.with_trace(loader_options(config, *session_.model)),
                 session_.memory),
        accumulate_(config.get_int("train.accumulate")),
        steps_(total_steps()),
        schedule_(config, full_steps(), batches_.per_epoch(), accumulate_),
        tape_(session_.memory, {.guard = config.get_string("guard") == "on"}),
        planner_(planner) {
    recompute_.install(tape_, session_.memory);
  }

  /// Initial values from the checkpoint that model.init names, if it names one.
  void start_from_checkpoint();

  /// Trains and evaluates; with `resume` from where the folder's run stands.
  TrainOutcome go(RunFolder& folder, bool resume);

 private:
  std::int64_t full_steps() const { return config_.get_int("train.epochs") * batches_.per_epoch() / accumulate_; }
  /// Errors (config): the data are too few for a single step.
  std::int64_t total_steps() const;
  std::vector<NamedTensor> checkpoint_tensors() {
    std::vector<NamedTensor> all = session_.model->tensors();
    optimiser_.list(all);
    return all;
  }
  /// What a batch is made of.
  const char* unit() const { return session_.model->takes_images() ? "images" : "examples"; }
  void resume();
  void record_changes(RunFolder& folder);
  void announce();
  bool loop();
  void one_step();
  const Batch& next_batch();
  Forward run_forward(const Batch& batch);
  double micro_batch();
  void log_interval();
  void add_line(Json line);
  bool evaluate_if_due();
  bool hash_epoch_if_due();
  Json hashes(const ByteHash& predictions);
  void keep_best();
  void show(double per_second);
  void save();
  TrainOutcome interrupted() const;
  TrainOutcome finish();

  const Config& config_;
  RunFolder* folder_ = nullptr;
  Progress& progress_;
  Session session_;
  RunReports reports_;
  SegmentMarks marks_;
  const MadePlan& made_;
  RecomputeSetup recompute_;
  Optimiser optimiser_;
  BestMetric best_;
  Batches batches_;
  std::int64_t accumulate_, steps_;
  LearningRate schedule_;
  Tape tape_;
  StepPlanner& planner_;
  RunState state_;
  std::string name_ = config_.name();  // of the configuration that the run began with
  std::int64_t saved_step_ = -1;
  std::int64_t evaluated_step_ = 0;  // the last after which eval.knn_every measured
  std::int64_t hashed_epoch_ = 0;    // the last whose hashes train.epoch_hashes has written
  Json measured_ = Json::object();   // the last value of each metric
  TimeLeft time_left_;
};

}  // namespace reprise
