// The dense-queue model (MoCo; He et al., 2020): a query encoder trained to tell its image's key from the keys of a
// queue, a key encoder that is a moving average of it, and the queue of the last keys, rewritten in place.
//
// The step: for each loss, logits against the queue, then the keys are enqueued inside the forward. So the queue that a
// loss read is overwritten before its backward runs: the case this project exists for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/layers/encoder.h"
#include "models/model.h"

namespace reprise {

class DenseQueueModel final : public TrainableModel {
 public:
  explicit DenseQueueModel(const Config& config);

  void allocate(Memory& memory) override;
  ParameterSet& parameters() override { return query_set_; }
  std::vector<ParameterSet*> parameter_sets() override { return {&query_set_, &key_set_, &queue_set_}; }
  std::vector<NamedTensor> tensors() override;
  std::vector<Stream*> streams() override { return {&dropout_}; }
  std::vector<std::int64_t> host_state() const override;
  void set_host_state(const std::vector<std::int64_t>& state) override;
  SegmentNames segment_names() const override;
  AugmentOptions augmentation() const override;
  int views() const override { return 2; }
  Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) override;
  Tensor average_of(std::size_t parameter) override { return key_set_.parameters()[parameter]->leaf->data; }
  double average_keep() const override;
  Json evaluate_in_training(const EvaluationContext& context) override;
  void predict(const EvaluationContext& context, std::int64_t images) override;
  Json evaluate(const EvaluationContext& context) override;
  std::vector<std::string> describe(const Json& figures) const override;

 private:
  Value one_loss(Tape& tape, const Tensor& query_view, const Tensor& key_view, const SegmentMarks& marks);
  void enqueue(Tape& tape, const Value& keys);

  EncoderSizes sizes_;
  int losses_;
  double temperature_, dropout_rate_;
  bool ring_;
  ParameterSet query_set_{true}, key_set_{false}, queue_set_{false};
  Encoder query_, key_;
  Buffer &queue_, &pointer_;
  std::int64_t dry_pointer_ = 0;  // where the ring stands in a dry trace
  Stream dropout_;
};

}  // namespace reprise
