#include "models/config/metric.h"

#include <algorithm>

#include "models/config/config.h"

namespace reprise {

const std::vector<Metric>& line_metrics() {
  static const std::vector<Metric> all = {{"loss", Better::less},
                                          {"accuracy", Better::more},
                                          {"peak_bytes", Better::less},
                                          {"images_per_second", Better::more},
                                          {"examples_per_second", Better::more}};
  return all;
}

std::vector<Metric> metrics_of(const Config& config) {
  std::vector<Metric> all = line_metrics();
  if (config.get_int("eval.knn_every") == 0) return all;
  all.insert(all.end(), config.measures().begin(), config.measures().end());
  return all;
}

namespace {

bool has_metric(const std::vector<Metric>& metrics, const std::string& name) {
  return std::any_of(metrics.begin(), metrics.end(), [&](const Metric& metric) { return metric.name == name; });
}

}  // namespace

void check_metrics(const Config& config) {
  const std::string& best = config.get_string("train.keep_best");
  if (config.get_int("eval.knn_every") > 0 && config.measures().empty()) {
    throw config.error_at("eval.knn_every", "expected 0, since model.type {} measures nothing while it trains",
                          config.get_string("model.type"));
  }
  if (best.empty()) {
    if (config.get_int("train.early_stop") == 0) return;
    throw config.error_at("train.early_stop", "expected the metric to go by in train.keep_best, such as loss");
  }
  std::vector<Metric> known = metrics_of(config);
  if (has_metric(known, best)) return;
  if (has_metric(config.measures(), best)) {
    throw config.error_at("train.keep_best", "expected eval.knn_every above 0: without it {} is never measured", best);
  }
  std::string names;
  for (const Metric& metric : known) names += (names.empty() ? "" : ", ") + metric.name;
  throw config.error_at("train.keep_best", "expected a metric that the run measures, one of {}, got {}", names,
                        quoted_for_message(best));
}

}  // namespace reprise
