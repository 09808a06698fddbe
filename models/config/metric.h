// Metrics: the figures in lines of metrics.jsonl that say how good the weights of a run are, and which way each gets
// better; train.keep_best goes by one of them. Those of every training stand in metric.cpp. What a model measures on
// the way (TrainableModel::evaluate_in_training) stands in its ModelType.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

enum class Better : std::uint8_t { less, more };

struct Metric {
  std::string name;
  Better better;
};

/// Those that a training writes every train.log_every steps; accuracy only where the model predicts labels.
const std::vector<Metric>& line_metrics();

class Config;

/// The metrics a run may have: of its lines, and where eval.knn_every asks for it, those that its model measures.
std::vector<Metric> metrics_of(const Config& config);

/// Refuses what can never be measured. Errors (config): eval.knn_every for a model that measures nothing on the way,
/// train.keep_best by what is no metric of the run, an early stop without one.
void check_metrics(const Config& config);

}  // namespace reprise
