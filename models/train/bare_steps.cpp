#include "models/train/bare_steps.h"

#include "core/philox.h"

namespace reprise {

namespace {

/// Images between -1 and 1, labels in turn.
void fill(Batch& batch) {
  constexpr std::int64_t kClasses = 100;
  std::uint64_t at = 0;
  for (Tensor& view : batch.views) {
    if (!view.defined()) continue;
    for (float& x : view.host_write<float>("noise")) x = static_cast<float>(philox_word(1, 0, at++)) * 0x1p-31f - 1.0f;
  }
  if (!batch.labels.defined()) return;
  std::int64_t label = 0;
  for (std::int64_t& x : batch.labels.host_write<std::int64_t>("noise")) x = label++ % kClasses;
}

}  // namespace

BareSteps::BareSteps(const Config& config, const std::shared_ptr<const Plan>& plan)
    : session_(config),
      marks_(config, session_.model->segment_names()),
      recompute_(config, marks_, plan),
      optimiser_(config, *session_.model, session_.memory),
      tape_(session_.memory),
      planner_(config, plan),
      accumulate_(config.get_int("train.accumulate")) {
  recompute_.install(tape_, session_.memory);
  // All slots of the loader, so that what is live is what training holds.
  for (std::int64_t i = 0; i <= config.get_int("data.prefetch"); ++i) {
    slots_.push_back(make_dry_batch(config, *session_.model, session_.memory));
    fill(slots_.back());
  }
  session_.memory.meter().reset_peak();
}

double BareSteps::backward() {
  double loss = 0;
  clear_gradients();
  for (std::int64_t i = 0; i < accumulate_; ++i) {
    tape_.follow(&planner_.schedule(session_.model->host_state()));
    Forward forward = session_.model->forward(tape_, slots_[next_++ % slots_.size()], marks_);
    loss += forward.loss.item();
    tape_.backward(forward.loss);
    forward = {};
    tape_.clear();
  }
  return loss;
}

void BareSteps::update(double learning_rate) {
  optimiser_.step(++count_, learning_rate, accumulate_);
  session_.model->after_step();
}

}  // namespace reprise
