#include "models/train/dry_step.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/registry.h"

namespace reprise {

namespace {

std::unique_ptr<TrainableModel> make_dry(const Config& config, Memory& memory) {
  set_thread_count(thread_count_of(config));
  register_builtin_ops();
  std::unique_ptr<TrainableModel> model = make_model(config);
  model->allocate(memory);
  name_storages(*model);
  return model;
}

/// The slots of the loader, one of which each micro-batch reads.
std::vector<Batch> make_slots(const Config& config, TrainableModel& model, Memory& memory) {
  std::vector<Batch> slots(static_cast<std::size_t>(config.get_int("data.prefetch") + 1));
  for (Batch& slot : slots) slot = make_dry_batch(config, model, memory);
  return slots;
}

}  // namespace

DryStep::DryStep(const Config& config, std::shared_ptr<const Plan> plan, bool timeline)
    : config_(config),
      memory_({.timeline = timeline, .dry = true}),
      model_(make_dry(config, memory_)),
      marks_(config, model_->segment_names()),
      recompute_(config, marks_, std::move(plan)),
      optimiser_(config, *model_, memory_),
      slots_(make_slots(config, *model_, memory_)),
      tape_(memory_),
      first_(model_->host_state()) {
  recompute_.install(tape_, memory_);
  optimiser_.clear_gradients();
}

Forward DryStep::forward() {
  if (!begin_.empty()) model_->set_host_state(begin_);
  return model_->forward(tape_, slots_[next_slot_], marks_);
}

std::vector<std::vector<std::int64_t>> DryStep::reachable(const std::vector<std::int64_t>& first, std::size_t most) {
  std::vector<std::vector<std::int64_t>> states{first};
  if (first.empty()) return states;
  tape_.set_policy(nullptr);  // what is recomputed does not move the host
  begin_.clear();
  model_->set_host_state(first);
  while (states.size() < most) {
    model_->forward(tape_, slots_[next_slot_], marks_);
    tape_.clear();
    std::vector<std::int64_t> state = model_->host_state();
    if (std::find(states.begin(), states.end(), state) != states.end()) break;
    states.push_back(std::move(state));
  }
  model_->set_host_state(first);
  recompute_.install(tape_, memory_);
  return states;
}

Walker DryStep::walker() {
  return Walker(tape_, [this] { return forward().loss; });
}

}  // namespace reprise
