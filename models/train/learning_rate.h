// Learning rates by step. Steps count from 0; the warm-up rises linearly to the peak and reaches it at its last step.
// Called by the trainer, the probe and checks; a function of the step alone, so a resumed run has the same rates.
#pragma once

#include <cstdint>
#include <vector>

#include "models/config/config.h"

namespace reprise {

/// Half a cosine from the peak to 0 between the warm-up's end and `total`.
double cosine_lr(std::int64_t step, std::int64_t total, std::int64_t warmup, double peak);

class LearningRate {
 public:
  /// As the keys train.lr, train.schedule, train.warmup_steps, train.step_epochs and train.step_factor say, for
  /// `total` steps of `accumulate` batches each, with `batches_per_epoch` batches in an epoch. Where an epoch ends in
  /// the middle of a step, the step schedule lowers the rate from the next step on. Errors (config): a step schedule
  /// without epochs.
  LearningRate(const Config& config, std::int64_t total, std::int64_t batches_per_epoch, std::int64_t accumulate = 1);
  double operator()(std::int64_t step) const;

 private:
  enum class Kind : std::uint8_t { constant, step, cosine } kind_;
  double peak_, factor_;
  std::int64_t warmup_, total_, accumulate_;
  std::vector<double> drops_;  // batches
};

}  // namespace reprise
