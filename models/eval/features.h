// Running a model over a whole set of images without recording anything: batches in the set's order, normalised but not
// augmented. Called by evaluations and the probe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/layers/encoder.h"
#include "models/model.h"

namespace reprise {

/// Throws Interrupted (core/interrupt.h) when somebody asked to stop.
void stop_evaluation_if_asked();

/// One batch: images [n, 32, 32, 3] and fine labels [n], from place `first` of the set on. May be called again for the
/// same batch cut smaller, when the budget has no room; so it must add its results only at its end.
using BatchBody = std::function<void(Tape& tape, const Tensor& images, const Tensor& labels, std::int64_t first)>;

/// The first `count` images in batches of eval.batch. A batch for which memory.budget has no room is cut in halves.
/// `stage` names it in the progress. Errors (memory): no room for a single image.
void for_each_batch(const EvaluationContext& context, const ImageSet& images, std::int64_t count, const char* stage,
                    const BatchBody& body);

/// The same in batches of `batch`, none of which is ever cut: for what depends on the batch, as batch statistics do.
/// Errors (memory): no room for one.
void for_each_whole_batch(const EvaluationContext& context, const ImageSet& images, std::int64_t count,
                          std::int64_t batch, const char* stage, const BatchBody& body);

/// Rows of features, and their labels.
struct FeatureTable {
  std::int64_t rows = 0, width = 0;
  std::vector<float> values;
  std::vector<std::int64_t> labels;
};

/// Features of the first `count` images by running statistics. Errors as above.
FeatureTable compute_features(const EvaluationContext& context, const Encoder& encoder, const ImageSet& images,
                              std::int64_t count, const char* stage);

}  // namespace reprise
