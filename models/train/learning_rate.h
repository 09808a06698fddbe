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
  /// `total` steps with `steps_per_epoch` (need not be whole) of them in an epoch.
  LearningRate(const Config& config, std::int64_t total, double steps_per_epoch);
  double operator()(std::int64_t step) const;

 private:
  enum class Kind : std::uint8_t { constant, step, cosine } kind_;
  double peak_, factor_;
  std::int64_t warmup_, total_;
  std::vector<double> drops_;  // steps
};

}  // namespace reprise
