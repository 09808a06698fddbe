#include "models/train/step_planner.h"

namespace reprise {

namespace {
constexpr std::size_t kMostSchedules = 256;  // a trace takes milliseconds, so they need not all be kept
}

StepPlanner::StepPlanner(const Config& config, std::shared_ptr<const Plan> plan)
    : step_(config, plan), plan_(std::move(plan)) {}

const Schedule& StepPlanner::made(const std::vector<std::int64_t>& host_state) {
  auto at = schedules_.find(host_state);
  if (at != schedules_.end()) return at->second;
  if (schedules_.size() >= kMostSchedules) schedules_.clear();
  step_.begin_in(host_state);
  std::vector<NodeChoice> choices;
  if (plan_) choices = plan_->assignment().choices;
  Schedule schedule = make_schedule(
      step_.tape(), [&] { return step_.forward().loss; }, std::move(choices));
  return schedules_.emplace(host_state, std::move(schedule)).first->second;
}

MeterSnapshot StepPlanner::worst() {
  MeterSnapshot worst;
  for (const std::vector<std::int64_t>& state : step_.reachable(step_.first_state())) {
    const MeterSnapshot& peak = made(state).peak;
    if (peak.total_peak > worst.total_peak) worst = peak;
  }
  return worst;
}

}  // namespace reprise
