#include "models/train/best_metric.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/error.h"
#include "recompute/json_place.h"

namespace reprise {

BestMetric::BestMetric(const Config& config)
    : config_(config), metric_(config.get_string("train.keep_best")), patience_(config.get_int("train.early_stop")) {
  if (patience_ > 0 && metric_.empty())
    throw config.error_at("train.early_stop", "expected the metric to go by in train.keep_best, such as knn");
  if (metric_ == "knn" && config.get_int("eval.knn_every") == 0)
    throw config.error_at("train.keep_best", "expected eval.knn_every above 0: without it knn is never measured");
  // What an evaluation measures, its model alone knows; all else is known before the run has a folder.
  constexpr std::array kLines = {"loss", "lr", "accuracy", "peak_bytes", "images_per_second", "examples_per_second"};
  bool known = std::find(kLines.begin(), kLines.end(), metric_) != kLines.end();
  if (!metric_.empty() && !known && config.get_int("eval.knn_every") == 0) {
    throw config.error_at("train.keep_best",
                          "expected a metric that the run measures, got {}. a line holds loss, lr, peak_bytes, and of "
                          "models that predict labels accuracy",
                          quoted_for_message(metric_));
  }
}

bool BestMetric::observe(const Json& line) {
  if (metric_.empty() || !line.contains(metric_) || !line[metric_].is_number()) return false;
  double value = line[metric_].get<double>();
  if (has_best() && !(metric_ == "loss" ? value < value_ : value > value_)) {
    ++waited_;
    return false;
  }
  value_ = value;
  step_ = line["step"].get<std::int64_t>();
  waited_ = 0;
  return true;
}

void BestMetric::require_known(const Json& line) const {
  if (metric_.empty() || has_best() || line.contains(metric_)) return;
  std::string known;
  for (const auto& [name, value] : line.items()) {
    if (name != "step" && name != "epoch" && value.is_number()) known += (known.empty() ? "" : ", ") + name;
  }
  throw config_.error_at("train.keep_best", "expected a metric that the run measures, got {}. a line holds {}",
                         quoted_for_message(metric_), known);
}

Json BestMetric::to_json() const {
  if (!has_best()) return nullptr;
  return {{"metric", metric_}, {"value", value_}, {"step", step_}, {"waited", waited_}};
}

void BestMetric::from_json(const Json& saved, const std::string& where) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  constexpr double kLargest = std::numeric_limits<double>::max();
  if (saved.is_null()) return;
  JsonPlace place(saved, "checkpoint", where, "best");
  if (!place.is_object()) place.refuse("expected an object or null");
  if (place.at("metric").text() != metric_) return;
  value_ = place.at("value").real(-kLargest, kLargest);
  step_ = place.at("step").integer(0, kMost);
  waited_ = place.at("waited").integer(0, kMost);
}

}  // namespace reprise
