#include "tools/bench/step_run.h"

#include <fmt/format.h>

#include "models/layers/draws.h"

namespace reprise::bench {

Config step_config(const BenchOptions& options, const std::string& method, const std::string& segments) {
  return parse_config(
      "{}", "bench",
      {fmt::format("model.encoder.preset={}", options.preset), fmt::format("train.batch={}", options.batch_or_preset()),
       fmt::format("threads={}", options.threads), "train.lr=0.01", fmt::format("recompute.method={}", method),
       fmt::format("recompute.segments={}", segments)});
}

std::string residual_blocks(const BenchOptions& options) {
  std::string list;
  SegmentNames names = make_model(step_config(options, "retain", "none"))->segment_names();
  for (const std::string& name : names.blocks) {
    if (name.starts_with("layer")) list += (list.empty() ? "" : ",") + name;
  }
  return "[" + list + "]";
}

std::vector<std::string> step_words(const BenchOptions& options) {
  return {"--preset",  options.preset,
          "--threads", fmt::format("{}", options.threads),
          "--batch",   fmt::format("{}", options.batch_or_preset())};
}

StepRun::StepRun(Config config, bool scheduled) : config_(std::move(config)) {
  if (scheduled) planner_ = std::make_unique<StepPlanner>(config_);
  model_ = make_model(config_);
  model_->allocate(memory_);
  marks_ = std::make_unique<SegmentMarks>(config_, model_->segment_names());
  recompute_ = std::make_unique<RecomputeSetup>(config_, *marks_);
  optimiser_ = std::make_unique<Optimiser>(config_, *model_, memory_);
  batch_.size = config_.get_int("train.batch");
  for (int view = 0; view < 2; ++view) {
    batch_.views[view] =
        make_tensor(memory_.allocator(), memory_.observer(), DType::f32, {batch_.size, 32, 32, 3}, Category::data);
    fill_normal(batch_.views[view], {"bench", static_cast<std::uint64_t>(view) + 1});
  }
  tape_ = std::make_unique<Tape>(memory_);
  recompute_->install(*tape_, memory_);
}

Value StepRun::forward() {
  optimiser_->clear_gradients();
  if (planner_) tape_->follow(&planner_->schedule(model_->host_state()));
  return model_->forward(*tape_, batch_, *marks_).loss;
}

void StepRun::finish(const Value& loss) {
  tape_->backward(loss);
  tape_->clear();
  optimiser_->step(++steps_, 0.01, 1);
  model_->after_step();
}

void StepRun::step() { finish(forward()); }

std::int64_t StepRun::peak_of_a_step() {
  memory_.meter().reset_peak();
  step();
  return memory_.meter().peak();
}

}  // namespace reprise::bench
