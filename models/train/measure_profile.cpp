#include "models/train/measure_profile.h"

#include <algorithm>
#include <chrono>

#include "core/interrupt.h"
#include "core/machine.h"
#include "core/parallel.h"
#include "models/train/bare_steps.h"
#include "recompute/context.h"
#include "recompute/planning/move_costs.h"
#include "recompute/planning/step_timer.h"

namespace reprise {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kWarmUp = 2;
// Times of short steps scatter most, and more of them cost little.
constexpr std::chrono::milliseconds kEnough(250);
constexpr std::int64_t kMostShortSteps = 32;

/// Steps that change nothing but states: at the learning rate 0.
void run(BareSteps& steps, StepTimer& timer, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    steps.make_schedule();
    timer.begin();
    steps.backward();
    steps.update(0.0);
    timer.end();
    if (stop_requested()) throw Interrupted{"profiling; nothing was written"};
  }
}

/// `least` steps, and more of short ones.
void run_enough(BareSteps& steps, StepTimer& timer, std::int64_t least) {
  SteadyClock::time_point start = SteadyClock::now();
  run(steps, timer, least);
  for (std::int64_t done = least; done < kMostShortSteps && SteadyClock::now() - start < kEnough; ++done)
    run(steps, timer, 1);
}

}  // namespace

void run_one_step(const Config& config, const std::shared_ptr<const Plan>& plan,
                  const std::function<void(Tape&)>& begin, const std::function<void()>& end) {
  BareSteps steps(config, plan);
  steps.clear_gradients();
  steps.make_schedule();
  begin(steps.tape());
  steps.backward();
  steps.update(0.0);
  end();
}

MeasuredSteps measure_steps(const Config& config, const std::shared_ptr<const Plan>& plan, int count) {
  BareSteps steps(config, plan);
  StepTimer timer;
  run(steps, timer, kWarmUp);
  timer.forget();
  run(steps, timer, count);
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
  {
    MoveCosts costs = measure_move_costs(largest);
    BareSteps steps(config, plan);
    StepTimer timer;
    timer.attach(steps.tape());
    run(steps, timer, kWarmUp);
    timer.forget();
    run_enough(steps, timer, config.get_int("recompute.profile_steps"));
    timer.read(profile);
    timer.detach();
    costs = held_against(costs, timer.moves());
    profile.copy = costs.copy;
    profile.gather = costs.gather;
    profile.exchange = costs.exchange;
    profile.isa = read_context("isa", steps.tape());
  }
  profile.micro_batches = config.get_int("train.accumulate");
  for (auto* times : {&profile.forward_ns, &profile.backward_ns}) {
    for (std::int64_t& ns : *times) ns = ns > 0 ? ns / profile.micro_batches : ns;  // a node runs in each of them
  }
  profile.threads = thread_count();
  profile.machine = processor_name();
  return profile;
}

}  // namespace reprise
