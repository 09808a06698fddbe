#include "models/train/measure_profile.h"

#include <algorithm>

#include "core/interrupt.h"
#include "core/machine.h"
#include "core/parallel.h"
#include "core/philox.h"
#include "models/train/step_planner.h"
#include "recompute/context.h"
#include "recompute/planning/move_costs.h"
#include "recompute/planning/step_timer.h"

namespace reprise {

namespace {

constexpr int kWarmUp = 2;

/// Images between -1 and 1, labels in turn.
void fill(Batch& batch, std::int64_t classes) {
  std::uint64_t at = 0;
  for (Tensor& view : batch.views) {
    if (!view.defined()) continue;
    for (float& x : view.host_write<float>("profile")) x = static_cast<float>(philox_word(1, 0, at++)) * 0x1p-31f - 1.0f;
  }
  if (!batch.labels.defined()) return;
  std::int64_t label = 0;
  for (std::int64_t& x : batch.labels.host_write<std::int64_t>("profile")) x = label++ % classes;
}

/// What the plan's snapshots, records and exchanges cost a step by `costs`.
std::int64_t moved_by(const Plan& plan, const Problem& problem, const MoveCosts& costs) {
  std::int64_t ns = 0;
  for (std::size_t c = 0; c < plan.classes.size() && c < problem.classes().size(); ++c) {
    const PlannedClass& state = plan.classes[c];
    if (state.bytes == 0) continue;
    auto readers = static_cast<std::int64_t>(state.readers.size());
    if (state.state == StateOption::whole) ns += costs.copy.of(state.bytes, 1);
    else ns += costs.gather.of(state.bytes, 1) + 2 * readers * costs.exchange.of(state.bytes, 1);
  }
  return ns;
}

class ProfiledSteps {
 public:
  ProfiledSteps(const Config& config, std::shared_ptr<const Plan> plan)
      : config_(config),
        session_(config),
        marks_(config, session_.model->segment_names()),
        recompute_(config, marks_, plan),
        optimiser_(config, *session_.model, session_.memory),
        tape_(session_.memory),
        planner_(config, plan) {
    recompute_.install(tape_, session_.memory);
    // All slots of the loader, so that what is live is what training holds.
    for (std::int64_t i = 0; i <= config.get_int("data.prefetch"); ++i) {
      slots_.push_back(make_dry_batch(config, *session_.model, session_.memory));
      fill(slots_.back(), 100);
    }
    session_.memory.meter().reset_peak();
  }

  void run(StepTimer& timer, int steps) {
    for (int i = 0; i < steps; ++i) {
      step(timer);
      if (stop_requested()) throw Interrupted{"profiling; nothing was written"};
    }
  }

  /// One step, with `begin` called right before its forward and `end` after all of its work.
  void run_watched(const std::function<void(Tape&)>& begin, const std::function<void()>& end) {
    StepTimer timer;
    optimiser_.clear_gradients();
    planner_.schedule(session_.model->host_state());
    begin(tape_);
    step(timer);
    end();
  }

  Tape& tape() { return tape_; }
  std::int64_t peak() { return session_.memory.meter().peak(); }

 private:
  void step(StepTimer& timer) {
    planner_.schedule(session_.model->host_state());  // outside the time: a run makes each schedule once
    timer.begin();
    optimiser_.clear_gradients();
    for (std::int64_t i = 0; i < config_.get_int("train.accumulate"); ++i) {
      tape_.follow(&planner_.schedule(session_.model->host_state()));
      Forward forward = session_.model->forward(tape_, slots_[next_++ % slots_.size()], marks_);
      tape_.backward(forward.loss);
      forward = {};
      tape_.clear();
    }
    optimiser_.step(++steps_, 0.0, config_.get_int("train.accumulate"));
    session_.model->after_step();
    timer.end();
  }

  const Config& config_;
  ModelSession session_;
  SegmentMarks marks_;
  RecomputeSetup recompute_;
  Optimiser optimiser_;
  std::vector<Batch> slots_;
  Tape tape_;
  StepPlanner planner_;
  std::size_t next_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

void run_one_step(const Config& config, const std::shared_ptr<const Plan>& plan, const std::function<void(Tape&)>& begin,
                  const std::function<void()>& end) {
  ProfiledSteps(config, plan).run_watched(begin, end);
}

MeasuredSteps measure_steps(const Config& config, const std::shared_ptr<const Plan>& plan, int count) {
  ProfiledSteps steps(config, plan);
  StepTimer timer;
  steps.run(timer, kWarmUp);
  timer.forget();
  steps.run(timer, count);
  Profile times;
  timer.read(times);
  return {times.step_ns, times.spread, steps.peak()};
}

Profile measure_profile(const Config& config, const std::shared_ptr<const Plan>& plan, const Planner& planner) {
  std::int64_t largest = 0;
  for (const solver::Object& object : planner.problem().instance().objects) {
    if (!object.uses.empty() && object.uses.front().read_class >= 0) largest = std::max(largest, object.bytes);
  }
  Profile profile;
  MoveCosts costs = measure_move_costs(largest);
  profile.copy = costs.copy;
  profile.gather = costs.gather;
  profile.exchange = costs.exchange;
  {
    ProfiledSteps steps(config, plan);
    StepTimer timer;
    timer.attach(steps.tape());
    steps.run(timer, kWarmUp);
    timer.forget();
    steps.run(timer, static_cast<int>(config.get_int("recompute.profile_steps")));
    timer.read(profile);
    timer.detach();
    profile.isa = read_context("isa", steps.tape());
  }
  profile.micro_batches = config.get_int("train.accumulate");
  for (auto* times : {&profile.forward_ns, &profile.backward_ns}) {
    for (std::int64_t& ns : *times) ns = ns > 0 ? ns / profile.micro_batches : ns;  // a node runs in each of them
  }
  profile.moved_ns = profile.micro_batches * moved_by(*plan, planner.problem(), costs);
  profile.threads = thread_count();
  profile.machine = processor_name();
  return profile;
}

}  // namespace reprise
