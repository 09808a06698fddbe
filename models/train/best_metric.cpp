#include "models/train/best_metric.h"

#include <cmath>
#include <limits>

#include "core/error.h"
#include "recompute/json_place.h"

namespace reprise {

BestMetric::BestMetric(const Config& config)
    : config_(config), metric_(config.get_string("train.keep_best")), patience_(config.get_int("train.early_stop")) {
  check_metrics(config);  // again, for values that were set after it was read
  for (const Metric& metric : metrics_of(config)) {
    if (metric.name == metric_) better_ = metric.better;
  }
}

bool BestMetric::observe(const Json& line) {
  if (metric_.empty() || !line.contains(metric_) || !line[metric_].is_number()) return false;
  double value = line[metric_].get<double>();
  bool better = !has_best() || (better_ == Better::less ? value < value_ : value > value_);
  if (!better || !std::isfinite(value)) {  // nothing compares with what is no number, and no state holds it
    if (has_best()) ++waited_;
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
