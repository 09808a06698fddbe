// Logistic regression on pixels averaged over windows of 8 x 8: the least model that trains, for tests that need one of
// their own and add to it what they test.
#pragma once

#include "models/layers/encoder.h"
#include "models/registry.h"
#include "ops/loss.h"
#include "ops/pool.h"
#include "ops/shape_ops.h"

namespace reprise::testing {

class PixelModel : public TrainableModel {
 public:
  explicit PixelModel(const Config& config) : TrainableModel(config), layer_(set_, "layer", 48, kFineLabels) {}
  void allocate(Memory& memory) override { set_.allocate(memory, 1); }
  ParameterSet& parameters() override { return set_; }
  std::vector<NamedTensor> tensors() override {
    std::vector<NamedTensor> all;
    set_.list("", all);
    return all;
  }
  SegmentNames segment_names() const override { return {{"all"}, {"all"}}; }
  Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) override {
    return {marks.run(tape, "all", [&] { return loss(tape, pooled(tape, batch), batch); }), std::nullopt};
  }
  Json evaluate(const EvaluationContext&) override { return Json::object(); }
  std::vector<std::string> describe(const Json&) const override { return {}; }

 protected:
  static Value pooled(Tape& tape, const Batch& batch) {
    return reshape(tape, avg_pool2d(tape, batch.views[0], {.window = 8}), {batch.size, 48});
  }
  Value loss(Tape& tape, const Value& pixels, const Batch& batch) {
    return softmax_cross_entropy(tape, layer_(tape, pixels), batch.labels);
  }

  ParameterSet set_{true};
  LinearLayer layer_;
};

}  // namespace reprise::testing
