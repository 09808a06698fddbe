// The linear probe: how well the classes can be read off frozen features by one linear layer.
//
// Recipe: features standardised by the training set's mean and deviation, multinomial logistic regression by Adam with
// a cosine schedule. Bits follow from the features and the key `seed`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/eval/features.h"

namespace reprise {

struct ProbeOptions {
  std::int64_t epochs = 30;
  std::int64_t batch = 512;
  double lr = 0.01;
  double weight_decay = 0;
  std::uint64_t seed = 0;
};

struct ProbeResult {
  double top1 = 0, top5 = 0;  // percent of the test rows
  double train_loss = 0;      // of the last epoch
};

/// Trains on one table and tests on the other. Features are standardised in place. Errors (memory).
ProbeResult run_probe(const EvaluationContext& context, FeatureTable& train, FeatureTable& test,
                      const ProbeOptions& options, const char* stage);

/// Probes `encoder`, and with probe.baseline an encoder of the same sizes as it is before training. Nothing of the
/// encoder changes. Returns {"top1", "top5", "labels", "untrained": {"top1", "top5"}}.
Json probe_encoder(const EvaluationContext& context, const Encoder& encoder, const EncoderSizes& sizes);

/// Lines for people.
std::vector<std::string> describe_probe(const Json& probe);

}  // namespace reprise
