#include "models/kinds/classifier.h"

#include "models/eval/features.h"
#include "models/eval/knn.h"
#include "ops/draws.h"
#include "ops/loss.h"
#include "ops/pool.h"

namespace reprise {

ClassifierModel::ClassifierModel(const Config& config)
    : TrainableModel(config),
      dropout_rate_(config.get_real("model.dropout")),
      encoder_(set_, encoder_sizes(config), false),
      head_(set_, "head", encoder_.dim(), kFineLabels),
      dropout_(named_stream("dropout", static_cast<std::uint64_t>(config.get_int("seed")))) {}

void ClassifierModel::allocate(Memory& memory) {
  set_.allocate(memory, static_cast<std::uint64_t>(config_.get_int("seed")));
}

std::vector<NamedTensor> ClassifierModel::tensors() {
  std::vector<NamedTensor> all;
  set_.list("", all);
  return all;
}

SegmentNames ClassifierModel::segment_names() const {
  SegmentNames names = encoder_.names();
  names.blocks.push_back("head");
  names.stages.push_back("head");
  return names;
}

Forward ClassifierModel::forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) {
  Value maps = encoder_.maps(tape, batch.views[0], Mode::train, marks);
  auto [loss, logits] = marks.run(tape, "head", [&] {
    Value features = global_avg_pool(tape, std::move(maps));
    if (dropout_rate_ > 0) features = dropout(tape, dropout_, features, dropout_rate_);
    Value scores = head_(tape, std::move(features));
    return std::pair(softmax_cross_entropy(tape, scores, batch.labels), scores);
  });
  if (tape.memory().is_dry()) return {loss, std::nullopt};
  return {loss, count_top_k(logits.tensor(), batch.labels, 1)};
}

Json ClassifierModel::evaluate_in_training(const EvaluationContext& context) {
  return {{"knn", knn_of_encoder(context, encoder_)}};
}

void ClassifierModel::for_each_score(const EvaluationContext& context, std::int64_t count,
                                     const std::function<void(const Tensor& scores, const Tensor& labels)>& body) {
  for_each_batch(context, context.data.test, count, "test",
                 [&](Tape& tape, const Tensor& x, const Tensor& labels, std::int64_t) {
                   Value scores = head_(tape, encoder_.features(tape, x, Mode::evaluate));
                   if (context.predictions) context.predictions->add_values(scores.tensor().host_read<float>());
                   body(scores.tensor(), labels);
                 });
}

void ClassifierModel::predict(const EvaluationContext& context, std::int64_t images) {
  for_each_score(context, std::min(images, context.data.test.size()), [](const Tensor&, const Tensor&) {});
}

Json ClassifierModel::evaluate(const EvaluationContext& context) {
  std::int64_t top1 = 0, top5 = 0;
  const ImageSet& images = context.data.test;
  for_each_score(context, images.size(), [&](const Tensor& scores, const Tensor& labels) {
    top1 += count_top_k(scores, labels, 1);
    top5 += count_top_k(scores, labels, 5);
  });
  auto percent = [&](std::int64_t hits) {
    return 100.0 * static_cast<double>(hits) / static_cast<double>(images.size());
  };
  Json figures;
  figures["test"] = {{"top1", percent(top1)}, {"top5", percent(top5)}, {"images", images.size()}};
  return figures;
}

std::vector<std::string> ClassifierModel::describe(const Json& figures) const {
  const Json& test = figures.at("test");
  return {fmt::format("test: top-1 {:.2f} %, top-5 {:.2f} % of {} images (chance is 1 %)", test["top1"].get<double>(),
                      test["top5"].get<double>(), test["images"].get<std::int64_t>())};
}

}  // namespace reprise
