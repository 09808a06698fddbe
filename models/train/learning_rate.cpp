#include "models/train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace reprise {

double cosine_lr(std::int64_t step, std::int64_t total, std::int64_t warmup, double peak) {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  double part = static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, total - warmup));
  return 0.5 * peak * (1 + std::cos(std::numbers::pi * std::min(part, 1.0)));
}

LearningRate::LearningRate(const Config& config, std::int64_t total, std::int64_t batches_per_epoch,
                           std::int64_t accumulate)
    : kind_(config.get_string("train.schedule") == "cosine" ? Kind::cosine
            : config.get_string("train.schedule") == "step" ? Kind::step
                                                            : Kind::constant),
      peak_(config.get_real("train.lr")),
      factor_(config.get_real("train.step_factor")),
      warmup_(config.get_int("train.warmup_steps")),
      total_(total),
      accumulate_(accumulate) {
  if (kind_ == Kind::step && config.get_numbers("train.step_epochs").empty()) {
    throw config.error_at("train.schedule",
                          "expected the epochs after which the learning rate falls in train.step_epochs, such as "
                          "[60, 80], got none: it would never fall. For that, take train.schedule=constant");
  }
  for (double epoch : config.get_numbers("train.step_epochs")) {
    drops_.push_back(epoch * static_cast<double>(batches_per_epoch));
  }
}

double LearningRate::operator()(std::int64_t step) const {
  if (kind_ == Kind::cosine) return cosine_lr(step, total_, warmup_, peak_);
  if (step < warmup_) return peak_ * static_cast<double>(step + 1) / static_cast<double>(warmup_);
  if (kind_ == Kind::constant) return peak_;
  // In batches, which are whole: the steps of an epoch need not be, and rounded the rate may fall a step late.
  auto done = static_cast<double>(step * accumulate_);
  auto passed = std::count_if(drops_.begin(), drops_.end(), [&](double drop) { return done >= drop; });
  return peak_ * std::pow(factor_, static_cast<double>(passed));
}

}  // namespace reprise
