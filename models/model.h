// TrainableModel: what the trainer needs to know about a model. One object holds the parameters, buffers and streams of
// one run and records the forward of one micro-batch on a tape.
//
// A model of one's own derives from it and is made known by register_model() (models/registry.h); the trainer,
// checkpoints, resume, evaluation and the program then work for it unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "core/byte_hash.h"
#include "data/loader.h"
#include "models/config/config.h"
#include "models/layers/parameters.h"
#include "models/layers/segment_marks.h"
#include "models/run/json_text.h"
#include "models/run/progress.h"

namespace reprise {

/// The forward of one micro-batch.
struct Forward {
  Value loss;                        // shape [], the mean over the micro-batch
  std::optional<std::int64_t> hits;  // images whose label came out first, where the model predicts labels
};

/// What an evaluation may use. Its tensors come from `memory`; `progress` may be null. What the model predicts for the
/// test images goes into `predictions`, image by image in the set's order, where that is not null.
struct EvaluationContext {
  const Config& config;
  const Dataset& data;
  Memory& memory;
  Progress* progress = nullptr;
  ByteHash* predictions = nullptr;
};

class TrainableModel {
 public:
  /// `config` outlives the model.
  explicit TrainableModel(const Config& config) : config_(config) {}
  virtual ~TrainableModel() = default;
  TrainableModel(const TrainableModel&) = delete;
  TrainableModel& operator=(const TrainableModel&) = delete;

  /// Makes parameters and buffers with their initial values, a function of the key `seed`. Called once.
  virtual void allocate(Memory& memory) = 0;

  /// What the optimiser trains.
  virtual ParameterSet& parameters() = 0;
  /// All sets of parameters and buffers, parameters() first.
  virtual std::vector<ParameterSet*> parameter_sets() { return {&parameters()}; }
  /// Every parameter and buffer by name: what a checkpoint holds besides the optimiser's state.
  virtual std::vector<NamedTensor> tensors() = 0;
  /// Streams that the forward draws from.
  virtual std::vector<Stream*> streams() { return {}; }
  /// What on the host decides which bytes the next forward reads and writes, as numbers: a ring's pointer. Steps with
  /// equal numbers have equal regions. On a model without bytes: those of the first step, or what was set.
  virtual std::vector<std::int64_t> host_state() const { return {}; }
  /// Lets a dry trace begin there; called on models without bytes only.
  virtual void set_host_state(const std::vector<std::int64_t>& /*state*/) {}
  /// The parts that recompute.segments and recompute.options may name.
  virtual SegmentNames segment_names() const = 0;

  /// False: the model reads no images. What it reads instead is its own, drawn once from the key `seed` and the same in
  /// every step; an epoch is one batch, and a batch has a size but no tensors.
  virtual bool takes_images() const { return true; }
  /// Makes that input anew as `dtype`, with the same values; for checks in f64.
  virtual void convert_input(Memory& /*memory*/, DType /*dtype*/) {}
  /// How the loader prepares images, and how many views of each.
  virtual AugmentOptions augmentation() const { return AugmentOptions::evaluation(); }
  virtual int views() const { return 1; }

  /// Records the forward of one micro-batch. All effects (statistics, queues) happen here.
  virtual Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) = 0;

  /// A tensor that follows the i-th of parameters() as an average, moved in the optimiser's own pass; undefined: none.
  virtual Tensor average_of(std::size_t /*parameter*/) { return {}; }
  /// Share of the average that stays at each step.
  virtual double average_keep() const { return 0.999; }
  /// After the optimiser's step.
  virtual void after_step() {}

  /// Figures that are cheap enough to take every eval.knn_every steps of a training, by name: those that its ModelType
  /// lists under `measures`. Nothing of the model changes.
  virtual Json evaluate_in_training(const EvaluationContext& /*context*/) { return Json::object(); }

  /// Gives `context.predictions` what the model as it is predicts for the first `images` test images: cheap enough to
  /// be done after every epoch (train.epoch_hashes). Nothing of the model changes. A model may predict nothing.
  virtual void predict(const EvaluationContext& /*context*/, std::int64_t /*images*/) {}

  /// Figures on the test images as nested objects, for instance {"probe": {"top1": ...}}; percent.
  virtual Json evaluate(const EvaluationContext& context) = 0;
  /// Lines for people about what evaluate() returned.
  virtual std::vector<std::string> describe(const Json& figures) const = 0;

 protected:
  const Config& config_;
};

}  // namespace reprise
