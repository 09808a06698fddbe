// A model type of a program of its own: registered from outside, trained, saved and resumed by the same trainer.
#include "models/registry.h"

#include "models/run/run_folder.h"
#include "tests/models/pixel_model.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

/// A model with a key of its own, which its evaluation shows.
class ScaledModel final : public PixelModel {
 public:
  using PixelModel::PixelModel;
  AugmentOptions augmentation() const override { return AugmentOptions::evaluation(); }
  Json evaluate(const EvaluationContext&) override { return {{"scale", config_.get_real("pixel.scale")}}; }
};

TEST(Registry, AModelFromOutsideIsTrainedSavedAndResumed) {
  register_model({.name = "pixels",
                  .summary = "a test",
                  .keys = {real_key("pixel.scale", 0.5, above(0), "", "a key of its own")},
                  .defaults = {}},
                 [](const Config& config) { return std::make_unique<ScaledModel>(config); });
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
