#include "models/train/step_planner.h"

#include <algorithm>

namespace reprise {

namespace {
constexpr std::size_t kMostSchedules = 256;  // a trace takes milliseconds, so they need not all be kept
}

StepPlanner::StepPlanner(const Config& config, std::shared_ptr<const Plan> plan)
    : step_(config, plan), plan_(std::move(plan)) {}

const Schedule& StepPlanner::schedule(const std::vector<std::int64_t>& host_state) {
  auto at = schedules_.find(host_state);
  if (at != schedules_.end()) return at->second;
  if (schedules_.size() >= kMostSchedules) schedules_.clear();
  step_.begin_in(host_state);
  std::vector<NodeChoice> choices;
  if (plan_) choices = plan_->assignment().choices;
  Schedule made = make_schedule(
      step_.tape(), [&] { return step_.forward().loss; }, std::move(choices));
  highest_peak_ = std::max(highest_peak_, made.peak.total_peak);
  return schedules_.emplace(host_state, std::move(made)).first->second;
}

std::int64_t StepPlanner::worst_peak(const std::vector<std::int64_t>& host_state) {
  std::int64_t worst = 0;
  for (const std::vector<std::int64_t>& state : step_.reachable(host_state)) {
    worst = std::max(worst, schedule(state).peak.total_peak);
  }
  return worst;
}

}  // namespace reprise
