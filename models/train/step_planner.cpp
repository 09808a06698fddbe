#include "models/train/step_planner.h"

namespace reprise {

namespace {

constexpr std::size_t kMostSchedules = 256;  // a trace takes milliseconds, so they need not all be kept

std::unique_ptr<TrainableModel> make_dry(const Config& config, Memory& memory) {
  std::unique_ptr<TrainableModel> model = make_model(config);
  model->allocate(memory);
  return model;
}

}  // namespace

StepPlanner::StepPlanner(const Config& config)
    : config_(config),
      memory_({.dry = true}),
      model_(make_dry(config, memory_)),
      marks_(config, model_->segment_names()),
      recompute_(config, marks_),
      optimiser_(config, *model_, memory_),
      batch_(make_dry_batch(config, *model_, memory_)),
      tape_(memory_) {
  recompute_.install(tape_, memory_);
}

const Schedule& StepPlanner::schedule(const std::vector<std::int64_t>& host_state) {
  auto at = schedules_.find(host_state);
  if (at != schedules_.end()) return at->second;
  if (schedules_.size() >= kMostSchedules) schedules_.clear();
  optimiser_.clear_gradients();
  Schedule made = make_schedule(tape_, [&] {
    model_->set_host_state(host_state);
    return model_->forward(tape_, batch_, marks_).loss;
  });
  return schedules_.emplace(host_state, std::move(made)).first->second;
}

}  // namespace reprise
