#include "models/check/halfway_plans.h"

namespace reprise {

Profile even_profile(const Config& config) {
  DryStep step(config);
  Walker walker = step.walker();
  Profile profile;
  walker.look({}, [&](Tape& tape) { profile.forward_ns.assign(tape.data().nodes.size(), 1000); });
  profile.micro_batches = config.get_int("train.accumulate");
  profile.step_ns = 10'000'000;
  profile.copy = {500, 0.1, 0};
  profile.gather = {800, 0.12, 3};
  profile.exchange = {300, 0.2, 3};
  return profile;
}

HalfwayPlans::HalfwayPlans(Config config) : config_(std::move(config)), planner_(config_, even_profile(config_)) {
  std::int64_t least = planner_.least("joint").predicted_peak;
  Planner::Answer most = planner_.plan("joint", 0);
  budget_ = least + (most.plan ? most.plan->predicted_peak - least : 0) / 2;
}

std::shared_ptr<const Plan> HalfwayPlans::plan(const std::string& method) {
  Planner::Answer answer = planner_.plan(method, budget_);
  return std::make_shared<const Plan>(answer.plan ? std::move(*answer.plan) : planner_.least(method));
}

}  // namespace reprise
