// A model type of a program of its own: registered from outside, trained, saved and resumed by the same trainer.
#include "models/registry.h"

#include "models/layers/encoder.h"
#include "models/run/run_folder.h"
#include "ops/loss.h"
#include "ops/pool.h"
#include "ops/shape_ops.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

/// Logistic regression on pixels averaged over 8 x 8 windows.
class PixelModel final : public TrainableModel {
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
  AugmentOptions augmentation() const override { return AugmentOptions::evaluation(); }
  Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) override {
    Value loss = marks.run(tape, "all", [&] {
      Value small = avg_pool2d(tape, batch.views[0], {.window = 8});
      return softmax_cross_entropy(tape, layer_(tape, reshape(tape, small, {batch.size, 48})), batch.labels);
    });
    return {loss, std::nullopt};
  }
  Json evaluate(const EvaluationContext&) override { return {{"scale", config_.get_real("pixel.scale")}}; }
  std::vector<std::string> describe(const Json&) const override { return {}; }

 private:
  ParameterSet set_{true};
  LinearLayer layer_;
};

TEST(Registry, AModelFromOutsideIsTrainedSavedAndResumed) {
  register_model({.name = "pixels",
                  .summary = "a test",
                  .keys = {real_key("pixel.scale", 0.5, above(0), "", "a key of its own")},
                  .defaults = {}},
                 [](const Config& config) { return std::make_unique<PixelModel>(config); });
  const char* text = R"(model: {type: pixels}
pixel: {scale: 0.25}
threads: 1
data: {limit: 64, synthetic: {train: 200, test: 100}}
train: {batch: 16, epochs: 2, warmup_steps: 1}
recompute: {segments: blocks, method: region}
)";
  TempFolder scratch;
  Json whole = run_tiny(text, scratch / "whole").summary;
  EXPECT_EQ(whole["scale"], 0.25);
  run_tiny(text, scratch / "run", {"train.max_steps=3"});
  Config config = RunFolder::read_config(scratch / "run", number_overrides({"train.max_steps=0"}));
  EXPECT_EQ(train(config, {.resume = scratch / "run", .progress = ProgressMode::quiet}).summary["hash"], whole["hash"]);
}

}  // namespace
}  // namespace reprise
