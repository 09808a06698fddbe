#include "models/train/budget.h"

#include "models/train/make_plan.h"

namespace reprise {
namespace {

constexpr std::size_t kCategoriesNamed = 3;  // in an error: those that take most

/// Where the planner has answered, it knows which methods would do and which would not.
std::string hint(const Config& config, bool answered) {
  bool replays =
      config.get_string("recompute.method") != "retain" && config.get_list("recompute.segments") != Words{"none"};
  return replays || answered
             ? "Take a smaller train.batch, or raise the budget"
             : "Take recompute.method=region with recompute.segments=blocks, a smaller train.batch, or raise the "
               "budget";
}

/// What the planner says of a fixed method, as of any other: the step that binds, what is live there, and the option
/// that would have to be allowed. Nothing where options by name make the run another one than the method's only plan.
std::string planners_answer(const Config& config, std::int64_t budget, std::int64_t peak) {
  const std::string& method = config.get_string("recompute.method");
  if (!allowed_by(method) || needs_plan(config) || !config.get_map("recompute.options").empty()) return "";
  Planner::Answer answer = RunPlanner(config, Profile{}).plan(method, budget);
  return answer.plan || answer.none.smallest_budget != peak ? "" : answer.none.message;
}

}  // namespace

void check_budget(const Config& config, StepPlanner& planner) {
  Bytes budget = config.get_bytes("memory.budget");
  if (!budget || !planner.first().exact) return;
  MeterSnapshot worst = planner.worst();
  std::int64_t peak = worst.total_peak;
  if (peak <= *budget) return;
  std::string answer = planners_answer(config, *budget, peak);
  throw config.error_at("memory.budget",
                        "too small for this run: expected at least {} bytes, the highest peak of its steps, got {} "
                        "bytes. Largest at the peak: {}. {}\n  {}",
                        peak, *budget, describe_bytes(worst.at_peak, kCategoriesNamed), hint(config, !answer.empty()),
                        answer.empty() ? fmt::format("The smallest feasible budget is {} bytes.", peak) : answer);
}

void check_budget(const Config& config, const Schedule& step) {
  Bytes budget = config.get_bytes("memory.budget");
  std::int64_t peak = step.peak.total_peak;
  if (!budget || !step.exact || peak <= *budget) return;
  throw config.error_at("memory.budget",
                        "too small for the next step, which finds the state of the host where no step before it did: "
                        "expected at least {} bytes, got {} bytes. Largest at its peak: {}. {}",
                        peak, *budget, describe_bytes(step.peak.at_peak, kCategoriesNamed), hint(config, false));
}

}  // namespace reprise
