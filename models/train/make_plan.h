// Making the plan of a run: traces dry, profiles a few real steps inside the budget, plans. Called by training and by
// the verbs plan, explain and check before the run's own memory exists, so that nothing of it is moved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/config/config.h"
#include "models/train/dry_step.h"
#include "recompute/planning/planner.h"

namespace reprise {

/// Told in a few words what is being done; may be null.
using PlanNotes = std::function<void(const std::string&)>;

/// Times of the step of `config`: read from recompute.profile where that is set, else measured on real steps under the
/// plan of least peak of `method`, inside memory.budget. The model's images are noise and its state is its own.
/// Errors: config (an infeasible budget, a profile of another step), user (no profile), memory.
Profile profile_of(const Config& config, const std::string& method, const PlanNotes& notes = nullptr);

/// Plans for one configuration, by method and budget. Keeps the dry step that it walks.
class RunPlanner {
 public:
  RunPlanner(const Config& config, Profile profile);

  Planner::Answer plan(const std::string& method, std::int64_t budget) { return planner_.plan(method, budget); }
  Plan least(const std::string& method) { return planner_.least(method); }
  const Profile& profile() const { return profile_; }
  const Planner& planner() const { return planner_; }

 private:
  PlannerOptions options(const Config& config);

  Profile profile_;
  DryStep step_;
  std::vector<std::vector<std::int64_t>> states_;
  Walker walker_;
  Planner planner_;
};

/// What the step of `config` is, for plans and profiles.
PlanPrint print_of(const Config& config);

/// Errors (config): keys that a planned method leaves no room for, named before anything is measured.
void check_planned_keys(const Config& config);

struct MadePlan {
  std::shared_ptr<const Plan> plan;
  std::optional<Profile> profile;  // where one was measured or read
};

/// The plan that a run under `config` needs: none for a fixed method, that of recompute.plan, or a new one.
/// Errors (config): the budget is infeasible (the message says the smallest feasible budget); recompute.plan names no
/// plan, or one for another step, or one whose step would not peak where it says.
MadePlan make_plan(const Config& config, const PlanNotes& notes = nullptr);

/// The plan in `path`, if make_plan() would take it and it is one of this method and budget; else null.
std::shared_ptr<const Plan> read_plan_if_it_fits(const Config& config, const std::filesystem::path& path);

}  // namespace reprise
