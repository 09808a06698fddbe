// BestMetric: which lines of metrics a run looks at to keep its best weights (train.keep_best) and to stop early
// (train.early_stop). Part of the run's state, so that a resumed run decides as one that never stopped.
#pragma once

#include <cstdint>
#include <string>

#include "models/config/config.h"
#include "models/run/json_text.h"

namespace reprise {

/// File of the best weights in a run folder: parameters and buffers, as model.init takes them.
constexpr const char* kBestFile = "best.safetensors";

class BestMetric {
 public:
  /// Errors (config): as check_metrics().
  explicit BestMetric(const Config& config);

  /// A line of metrics.jsonl. True if it holds the metric and is better than all before, in the metric's direction.
  /// What is no finite number is never better.
  bool observe(const Json& line);
  /// Whether train.early_stop lines in a row brought nothing better.
  bool should_stop() const { return patience_ > 0 && waited_ >= patience_; }
  /// Errors (config) when a line that ought to hold the metric came and none has it.
  void require_known(const Json& line) const;

  const std::string& metric() const { return metric_; }
  bool has_best() const { return step_ > 0; }
  double value() const { return value_; }
  std::int64_t step() const { return step_; }

  /// {"metric", "value", "step", "waited"}; null before the first line.
  Json to_json() const;
  /// Takes up what to_json() gave, unless it speaks of another metric. Errors (user): it is not whole.
  void from_json(const Json& saved, const std::string& where);

 private:
  const Config& config_;
  std::string metric_;
  std::int64_t patience_;
  Better better_ = Better::more;
  double value_ = 0;
  std::int64_t step_ = 0, waited_ = 0;
};

}  // namespace reprise
