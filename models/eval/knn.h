// k-nearest-neighbour accuracy of frozen features (Wu et al., 2018, and MoCo's code): how well labels can be told from
// the nearest training images, without training anything. Cheap enough to look at while a contrastive run trains.
#pragma once

#include <cstdint>
#include <vector>

#include "models/eval/features.h"

namespace reprise {

struct KnnOptions {
  std::int64_t neighbours = 200;
  double temperature = 0.1;
};

/// Percent of the rows of `test` whose label wins the vote of the nearest rows of `train` by cosine; each of them votes
/// for its label with weight e^(cosine / temperature). Of equal rows the earlier one is nearer, of equal votes the
/// smaller label wins; a row that holds what is no finite number is farther than all that do not. The bits do not
/// depend on the number of threads.
double knn_accuracy(FeatureTable train, FeatureTable test, const KnnOptions& options);

/// The label that each row of `test` gets by that vote.
std::vector<std::int64_t> vote_of_neighbours(FeatureTable train, FeatureTable test, const KnnOptions& options);

/// The accuracy of an encoder as it is, on the run's images, by the keys eval.knn_*. Nothing of the encoder changes.
/// Percent. Errors (memory). Throws Interrupted.
double knn_of_encoder(const EvaluationContext& context, const Encoder& encoder);

/// Gives `context.predictions` the features of the first `images` test images and then the labels of those among the
/// first `images` training images that are nearest to them. Errors and stops as above.
void predict_by_neighbour(const EvaluationContext& context, const Encoder& encoder, std::int64_t images);

}  // namespace reprise
