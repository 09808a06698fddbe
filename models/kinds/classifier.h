// The supervised classifier: the same encoder with one linear layer on its features, trained by cross-entropy on the
// fine labels. A yardstick for the contrastive runs, and the smallest example of a TrainableModel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/layers/encoder.h"
#include "models/model.h"

namespace reprise {

class ClassifierModel final : public TrainableModel {
 public:
  explicit ClassifierModel(const Config& config);

  void allocate(Memory& memory) override;
  ParameterSet& parameters() override { return set_; }
  std::vector<NamedTensor> tensors() override;
  std::vector<Stream*> streams() override { return {&dropout_}; }
  SegmentNames segment_names() const override;
  AugmentOptions augmentation() const override { return augment_options(config_); }
  Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) override;
  Json evaluate_in_training(const EvaluationContext& context) override;
  void predict(const EvaluationContext& context, std::int64_t images) override;
  Json evaluate(const EvaluationContext& context) override;
  std::vector<std::string> describe(const Json& figures) const override;

 private:
  /// Scores of the first `count` test images, batch by batch.
  void for_each_score(const EvaluationContext& context, std::int64_t count,
                      const std::function<void(const Tensor& scores, const Tensor& labels)>& body);

  double dropout_rate_;
  ParameterSet set_{true};
  Encoder encoder_;
  LinearLayer head_;
  Stream dropout_;
};

}  // namespace reprise
