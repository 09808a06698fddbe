#include "models/eval/knn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/parallel.h"
#include "data/images.h"
#include "ops/gemm.h"

namespace reprise {
namespace {

constexpr std::int64_t kRowsAtOnce = 128;  // of the test table, whose cosines to all training rows are in memory
constexpr std::int64_t kRowsOfBlock = 8;   // of these, for one thread at a time

void to_unit_length(FeatureTable& table) {
  parallel_blocks(table.rows, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      float* row = table.values.data() + r * table.width;
      double square = 0;
      for (std::int64_t i = 0; i < table.width; ++i) square += double{row[i]} * row[i];
      auto scale = static_cast<float>(1.0 / std::sqrt(std::max(square, 1e-24)));
      for (std::int64_t i = 0; i < table.width; ++i) row[i] *= scale;
    }
  });
}

/// The label that the nearest rows vote for. `order` is working memory, a number for each label.
std::int64_t vote(const float* cosines, const std::vector<std::int64_t>& labels, const KnnOptions& options,
                  std::span<std::int32_t> order) {
  auto count =
      static_cast<std::ptrdiff_t>(std::min<std::size_t>(static_cast<std::size_t>(options.neighbours), labels.size()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  // What is no number is farthest: features of an encoder that diverges must not spoil the order of the others.
  auto cosine = [&](std::int32_t i) { return std::isnan(cosines[i]) ? -HUGE_VALF : cosines[i]; };
  auto nearer = [&](std::int32_t a, std::int32_t b) { return cosine(a) != cosine(b) ? cosine(a) > cosine(b) : a < b; };
  std::nth_element(order.begin(), order.begin() + count - 1, order.end(), nearer);
  std::sort(order.begin(), order.begin() + count, nearer);  // votes are summed in one order
  std::array<double, kFineLabels> votes{};
  for (auto at = order.begin(); at != order.begin() + count; ++at) {
    votes[static_cast<std::size_t>(labels[static_cast<std::size_t>(*at)])] +=
        std::exp((double{cosine(*at)} - 1) / options.temperature);
  }
  return std::max_element(votes.begin(), votes.end()) - votes.begin();
}

}  // namespace

std::vector<std::int64_t> vote_of_neighbours(FeatureTable train, FeatureTable test, const KnnOptions& options) {
  std::vector<std::int64_t> winners(static_cast<std::size_t>(test.rows));
  if (train.rows == 0) return winners;
  to_unit_length(train);
  to_unit_length(test);
  std::int64_t most = std::min(kRowsAtOnce, test.rows), blocks = (most + kRowsOfBlock - 1) / kRowsOfBlock;
  std::vector<float> cosines(static_cast<std::size_t>(most * train.rows));
  std::vector<std::int32_t> orders(static_cast<std::size_t>(blocks * train.rows));
  for (std::int64_t first = 0; first < test.rows; first += kRowsAtOnce) {
    stop_evaluation_if_asked();
    std::int64_t rows = std::min(kRowsAtOnce, test.rows - first);
    GemmCall<float> product{.transpose_b = true, .m = rows, .n = train.rows, .k = train.width};
    product.a = test.values.data() + first * test.width, product.lda = test.width;
    product.b = train.values.data(), product.ldb = train.width;
    product.c = cosines.data(), product.ldc = train.rows;
    gemm(product);
    parallel_blocks(rows, kRowsOfBlock, [&](std::int64_t begin, std::int64_t end) {
      auto length = static_cast<std::size_t>(train.rows);
      std::span<std::int32_t> order(orders.data() + begin / kRowsOfBlock * train.rows, length);
      for (std::int64_t r = begin; r < end; ++r) {
        auto row = static_cast<std::size_t>(first + r);
        winners[row] = vote(cosines.data() + r * train.rows, train.labels, options, order);
      }
    });
  }
  return winners;
}

double knn_accuracy(FeatureTable train, FeatureTable test, const KnnOptions& options) {
  if (train.rows == 0 || test.rows == 0) return 0;
  std::vector<std::int64_t> labels = test.labels,
                            winners = vote_of_neighbours(std::move(train), std::move(test), options);
  std::int64_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) right += winners[i] == labels[i];
  return 100.0 * static_cast<double>(right) / static_cast<double>(labels.size());
}

double knn_of_encoder(const EvaluationContext& context, const Encoder& encoder) {
  std::int64_t images = context.data.train.size(), most = context.config.get_int("eval.knn_images");
  if (most > 0) images = std::min(images, most);
  FeatureTable train = compute_features(context, encoder, context.data.train, images, "knn");
  FeatureTable test = compute_features(context, encoder, context.data.test, context.data.test.size(), "knn");
  return knn_accuracy(std::move(train), std::move(test),
                      {context.config.get_int("eval.knn_neighbours"), context.config.get_real("eval.knn_temperature")});
}

void predict_by_neighbour(const EvaluationContext& context, const Encoder& encoder, std::int64_t images) {
  auto most = [&](const ImageSet& set) { return std::min(images, set.size()); };
  FeatureTable train = compute_features(context, encoder, context.data.train, most(context.data.train), "predict");
  FeatureTable test = compute_features(context, encoder, context.data.test, most(context.data.test), "predict");
  context.predictions->add_values(std::span<const float>(test.values));
  std::vector<std::int64_t> labels = vote_of_neighbours(std::move(train), std::move(test), {.neighbours = 1});
  context.predictions->add_values(std::span<const std::int64_t>(labels));
}

}  // namespace reprise
