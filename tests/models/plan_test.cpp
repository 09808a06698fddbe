// Planned training: the predicted peak is the measured one to the byte, and planning changes no byte of what is
// trained.
#include "models/train/make_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "core/machine.h"
#include "models/check/halfway_plans.h"
#include "models/run/run_folder.h"
#include "ops/onednn.h"
#include "recompute/planning/plan_text.h"
#include "tests/models/own_budgets.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

using Overrides = std::vector<std::string>;

/// A profile with times that are made up, so that no test waits for a measurement, and the marks of a measured one.
Profile printed_profile(const Config& config) {
  Profile profile = even_profile(config);
  PlanPrint print = print_of(config);
  profile.machine = processor_name();
  profile.trace = print.trace;
  profile.build = print.build;
  profile.threads = print.threads;
  profile.optimiser = print.optimiser;
  return profile;
}

struct Case {
  const char* name;
  const char* text;
  Overrides overrides;
};

const char* const kResnet18 = R"(threads: 1
model:
  type: dense_queue
  encoder: {preset: resnet18}
  queue: {size: 64}
data: {limit: 64, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 1, batch: 4, lr: 0.01}
probe: {epochs: 0}
)";

const char* const kSmall = R"(threads: 1
model:
  type: dense_queue
  encoder: {preset: small}
  queue: {size: 64}
data: {limit: 64, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 1, batch: 16, lr: 0.01}
probe: {epochs: 0}
)";

bool full() { return std::getenv("REPRISE_FULL") != nullptr; }

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"ring", kTinyQueue, {}},
      {"shift, two losses", kTinyQueue, {"model.queue.layout=shift", "model.losses=2"}},
      {"ring, two losses, accumulation", kTinyQueue, {"model.losses=2", "train.accumulate=2", "model.dropout=0.2"}},
      {"classifier", kTinyClassifier, {}}};
  if (full()) all.push_back({"resnet18", kResnet18, {}});
  return all;
}

/// Those above and, in a full run, the preset of the demo under each layout and number of losses.
std::vector<Case> cases_of_peaks() {
  std::vector<Case> all = cases();
  if (!full()) return all;
  all.push_back({"small, ring", kSmall, {}});
  all.push_back({"small, shift, two losses", kSmall, {"model.queue.layout=shift", "model.losses=2"}});
  all.push_back({"small, ring, two losses, accumulation", kSmall, {"model.losses=2", "train.accumulate=2"}});
  return all;
}

TEST(PlannedTraining, PeakIsPredictedToTheByteForEveryMethodAndBudget) {
  const std::size_t budgets = full() ? 8 : 3;
  for (const Case& c : cases_of_peaks()) {
    TempFolder folder;
    Config config = tiny_config(c.text, folder / "none", c.overrides);
    RunPlanner planner(config, printed_profile(config));
    for (const std::string& method : plannable_methods()) {
      std::set<std::int64_t> tested;
      for (std::int64_t budget : own_budgets(planner, method, static_cast<std::int64_t>(budgets))) {
        std::string where = fmt::format("{}, {} at {}", c.name, method, budget);
        Planner::Answer answer = planner.plan(method, budget);
        ASSERT_TRUE(answer.plan) << where << ": " << answer.none.message;
        EXPECT_LE(answer.plan->predicted_peak, budget) << where;
        fs::path plan = folder / "plan.json", run = folder / "run";
        std::ofstream(plan) << to_json(*answer.plan);
        Overrides all = c.overrides;
        all.insert(all.end(),
                   {"train.max_steps=3", "recompute.plan=" + plan.string(), "memory.budget=" + std::to_string(budget)});
        Json summary = run_tiny(c.text, run, all).summary;
        fs::remove_all(run);  // hundreds of checkpoints of resnet18 would fill a disk
        EXPECT_EQ(summary["memory"]["peak_bytes"].get<std::int64_t>(), answer.plan->predicted_peak) << where;
        EXPECT_EQ(summary["plan"]["predicted_peak_bytes"].get<std::int64_t>(), answer.plan->predicted_peak) << where;
        EXPECT_EQ(summary["plan"]["method"], method) << where;
        tested.insert(budget);
      }
      EXPECT_EQ(tested.size(), budgets) << c.name << ", " << method;
    }
  }
}

TEST(PlannedTraining, TrainsTheSameBytesUnderEveryMethod) {
  for (const Case& c : cases()) {
    TempFolder folder;
    std::string steps = "train.max_steps=" + std::to_string(full() ? 50 : 5);
    Overrides plain = c.overrides;
    plain.insert(plain.end(), {steps, "train.epochs=100", "recompute.segments=none"});
    Json expected = run_tiny(c.text, folder / "plain", plain).summary;
    Config config = tiny_config(c.text, folder / "none", c.overrides);
    std::ofstream(folder / "profile.json") << to_json(printed_profile(config));
    RunPlanner planner(config, printed_profile(config));
    std::int64_t low = planner.least("joint").predicted_peak, high = planner.plan("joint", 0).plan->predicted_peak;
    for (const std::string& method : plannable_methods()) {
      for (int i = 0; i < (full() ? 4 : 1); ++i) {
        std::int64_t budget = std::max(planner.least(method).predicted_peak, low + (high - low) * (i + 1) / 5);
        Overrides all = c.overrides;
        all.insert(all.end(),
                   {steps, "train.epochs=100", "recompute.method=" + method, "memory.budget=" + std::to_string(budget),
                    "recompute.profile=" + (folder / "profile.json").string()});
        Json summary = run_tiny(c.text, folder / (method + std::to_string(i)), all).summary;
        // Portable products give a row other last bits in another batch, and evaluation cuts its batches to the budget.
        if (onednn::refusal()) summary["hash"]["predictions"] = expected["hash"]["predictions"];
        EXPECT_EQ(summary["hash"], expected["hash"]) << c.name << ", " << method << " at " << budget;
        EXPECT_LE(summary["memory"]["peak_bytes"].get<std::int64_t>(), budget);
      }
    }
  }
}

/// Without a stored profile the run measures one first, on steps that change state: none of it may be left.
TEST(PlannedTraining, TrainsTheSameBytesAfterProfilingInTheRun) {
  for (const Case& c : cases()) {
    TempFolder folder;
    Config config = tiny_config(c.text, folder / "none", c.overrides);
    RunPlanner planner(config, printed_profile(config));
    std::int64_t low = planner.least("joint").predicted_peak, high = planner.plan("joint", 0).plan->predicted_peak;
    std::int64_t budget = (low + high) / 2;
    Overrides plain = c.overrides;
    plain.insert(plain.end(), {"train.max_steps=" + std::to_string(full() ? 50 : 5), "train.epochs=100"});
    Overrides planned = plain;
    plain.push_back("recompute.method=retain");
    planned.insert(planned.end(), {"recompute.method=joint", "memory.budget=" + std::to_string(budget),
                                   "recompute.profile=", "recompute.profile_steps=2"});
    Json expected = run_tiny(c.text, folder / "retain", plain).summary;
    Json summary = run_tiny(c.text, folder / "joint", planned).summary;
    for (const char* bytes : {"parameters", "state"}) {
      ASSERT_TRUE(expected["hash"][bytes].is_string()) << bytes;
      EXPECT_EQ(summary["hash"][bytes], expected["hash"][bytes]) << c.name << ", " << bytes;
    }
    EXPECT_LE(summary["memory"]["peak_bytes"].get<std::int64_t>(), budget) << c.name;
    Plan plan = plan_from_json(file_text(folder / "joint" / kPlanFile), "plan.json");
    EXPECT_LT(plan.predicted_peak, high) << c.name << ": what is trained by must not be the plan that retains all";
    Profile profile = profile_from_json(file_text(folder / "joint" / kProfileFile), "profile.json");
    EXPECT_GT(profile.step_ns, 0) << c.name;
    EXPECT_NE(profile, planner.profile()) << c.name << ": the times are measured, not made up";
  }
}

TEST(PlannedTraining, Resnet18HoldsWhatItsJointPlanSays) {
  TempFolder folder;
  Config config = tiny_config(kResnet18, folder / "none");
  RunPlanner planner(config, printed_profile(config));
  std::int64_t low = planner.least("joint").predicted_peak, high = planner.plan("joint", 0).plan->predicted_peak;
  Planner::Answer answer = planner.plan("joint", (low + high) / 2);
  ASSERT_TRUE(answer.plan) << answer.none.message;
  std::ofstream(folder / "plan.json") << to_json(*answer.plan);
  Json summary =
      run_tiny(kResnet18, folder / "run", {"train.max_steps=1", "recompute.plan=" + (folder / "plan.json").string()})
          .summary;
  EXPECT_EQ(summary["memory"]["peak_bytes"].get<std::int64_t>(), answer.plan->predicted_peak);
}

TEST(PlannedTraining, ProfilesInsideTheBudgetAndKeepsThePlanInTheRunFolder) {
  TempFolder folder;
  Config config = tiny_config(kTinyQueue, folder / "none");
  std::int64_t budget = RunPlanner(config, printed_profile(config)).least("joint").predicted_peak;
  Overrides all = {"train.max_steps=4", "recompute.method=joint", "recompute.profile_steps=1",
                   "memory.budget=" + std::to_string(budget)};
  Json summary = run_tiny(kTinyQueue, folder / "run", all).summary;
  EXPECT_LE(summary["memory"]["peak_bytes"].get<std::int64_t>(), budget);
  Plan plan = plan_from_json(file_text(folder / "run" / kPlanFile), "plan.json");
  EXPECT_EQ(plan.method, "joint");
  EXPECT_EQ(plan.budget, budget);
  EXPECT_EQ(profile_from_json(file_text(folder / "run" / kProfileFile), "profile.json").trace, plan.made_for.trace);
}

TEST(PlannedTraining, ABudgetThatNoPlanFitsSaysTheSmallestThatOneDoes) {
  TempFolder folder;
  Config config = tiny_config(kTinyQueue, folder / "run", {"recompute.method=joint", "memory.budget=10KiB"});
  ErrorKind kind = ErrorKind::internal;
  std::string text = error_of([&] { train(config, {.resume = {}, .progress = ProgressMode::quiet}); }, &kind);
  EXPECT_EQ(kind, ErrorKind::config);
  std::int64_t smallest = RunPlanner(config, Profile{}).least("joint").predicted_peak;
  EXPECT_TRUE(contains(text, "smallest feasible budget")) << text;
  EXPECT_TRUE(contains(text, std::to_string(smallest))) << text << "\n" << smallest;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST(PlannedTraining, AProfileOfAnotherMachineIsRefused) {
  TempFolder folder;
  Config config = tiny_config(kTinyQueue, folder / "none");
  Profile other = printed_profile(config);
  other.machine = "another processor";
  std::ofstream(folder / "profile.json") << to_json(other);
  Config planned = tiny_config(kTinyQueue, folder / "run",
                               {"recompute.method=joint", "recompute.profile=" + (folder / "profile.json").string()});
  std::string text = error_of([&] { make_plan(planned); });
  EXPECT_TRUE(contains(text, "another processor")) << text;
}

TEST(PlannedTraining, AProfileOfAnotherStepIsRefusedWithWhatDiffers) {
  TempFolder folder;
  Config config = tiny_config(kTinyQueue, folder / "none");
  std::ofstream(folder / "profile.json") << to_json(printed_profile(config));
  const std::pair<const char*, const char*> others[] = {{"train.accumulate=3", "3 micro-batches"},
                                                        {"train.optimiser=adamw", "optimiser adamw"}};
  for (auto [key, part] : others) {
    Config planned =
        tiny_config(kTinyQueue, folder / "run",
                    {"recompute.method=joint", key, "recompute.profile=" + (folder / "profile.json").string()});
    ErrorKind kind = ErrorKind::internal;
    std::string text = error_of([&] { make_plan(planned); }, &kind);
    EXPECT_EQ(kind, ErrorKind::config) << text;
    EXPECT_TRUE(contains(text, "expected a profile of this step") && contains(text, part)) << text;
  }
}

/// The refusal of a run of kTinyQueue that goes by the plan in `file`.
std::string refusal_of(const fs::path& file, const fs::path& run, Overrides overrides) {
  overrides.push_back("recompute.plan=" + file.string());
  Config config = tiny_config(kTinyQueue, run, overrides);
  ErrorKind kind = ErrorKind::internal;
  std::string text = error_of([&] { train(config, {.resume = {}, .progress = ProgressMode::quiet}); }, &kind);
  EXPECT_EQ(kind, ErrorKind::config) << text;
  EXPECT_TRUE(contains(text, "recompute.plan") && contains(text, file.string())) << text;
  EXPECT_FALSE(fs::exists(run)) << text;
  return text;
}

TEST(PlannedTraining, AStalePlanIsRefusedWithWhatDiffers) {
  TempFolder folder;
  Config config = tiny_config(kTinyQueue, folder / "none");
  fs::path file = folder / "plan.json";
  std::ofstream(file) << to_json(RunPlanner(config, printed_profile(config)).least("joint"));
  struct Other {
    const char* key;
    std::vector<std::string> says;
  };
  for (const Other& other : std::vector<Other>{{"model.losses=2", {"trace "}},
                                               {"train.optimiser=adamw", {"optimiser sgd (here adamw)"}},
                                               {"train.momentum=0", {"bytes held before the step: "}},
                                               {"data.prefetch=5", {"bytes held before the step: ", "data "}},
                                               {"train.accumulate=3", {"micro-batches 1 (here 3)"}}}) {
    std::string text = refusal_of(file, folder / "run", {other.key});
    for (const std::string& part : other.says) EXPECT_TRUE(contains(text, part)) << other.key << "\n" << text;
  }
}

/// A build whose ops promise something else, or whose replays need something else, for one and the same step.
TEST(PlannedTraining, APlanOfOtherContractsOrAnotherBuildIsRefusedWithBoth) {
  TempFolder folder;
  Config config = tiny_config(kTinyQueue, folder / "none");
  const Json good = Json::parse(to_json(RunPlanner(config, printed_profile(config)).least("joint")));
  for (const char* what : {"contracts", "build"}) {
    Json changed = good;
    changed["made_for"][what] = "0123456789abcdef";
    std::ofstream(folder / "plan.json") << changed.dump();
    std::string text = refusal_of(folder / "plan.json", folder / "run", {});
    std::string here = good["made_for"][what].get<std::string>();
    // Nothing else differs, so nothing else is named.
    std::string says = fmt::format("was made for {} 0123456789abcdef (here {}). Make it anew", what, here);
    EXPECT_TRUE(contains(text, says)) << says << "\n" << text;
  }
}

TEST(PlannedTraining, APlanThatWasChangedByHandIsRefusedWithThePlace) {
  TempFolder folder;
  Config config = tiny_config(kTinyQueue, folder / "none");
  const Json good = Json::parse(to_json(RunPlanner(config, printed_profile(config)).plan("joint", 0).plan.value()));
  auto expect = [&](const std::string& part, const std::function<void(Json&)>& change) {
    Json changed = good;
    change(changed);
    std::ofstream(folder / "plan.json") << changed.dump();
    std::string text = refusal_of(folder / "plan.json", folder / "run", {});
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  };
  expect("method: expected one of retain", [](Json& plan) { plan["method"] = "unchecked"; });
  expect("segments: expected ", [](Json& plan) { plan["segments"].erase(0); });
  expect("segments[0].id: expected ", [](Json& plan) { plan["segments"][0]["id"] = "other"; });
  expect("segments[0].kept: expected nodes of its own", [](Json& plan) {
    plan["segments"][0]["replay"] = true;
    plan["segments"][0]["kept"] = Json::array({Json::array({plan["nodes"].get<int>() - 1, 0})});
  });
}

TEST(PlannedTraining, APlanWhoseStepPeaksElsewhereOrOfAnotherBuildIsRefused) {
  TempFolder folder;
  Config config = tiny_config(kTinyQueue, folder / "none");
  Plan plan = RunPlanner(config, printed_profile(config)).least("joint");
  std::int64_t peak = plan.predicted_peak;
  plan.predicted_peak -= 64;
  std::ofstream(folder / "low.json") << to_json(plan);
  std::string text = refusal_of(folder / "low.json", folder / "run", {});
  EXPECT_TRUE(contains(text, fmt::format("that of its step, {} bytes", peak))) << text;
  EXPECT_TRUE(contains(text, fmt::format("says {} bytes", peak - 64))) << text;

  Json old = Json::parse(to_json(plan));
  old["format"] = "reprise-plan/1";
  for (const char* key : {"held", "micro_batches", "optimiser"}) old["made_for"].erase(key);
  std::ofstream(folder / "old.json") << old.dump();
  text = refusal_of(folder / "old.json", folder / "run", {});
  EXPECT_TRUE(contains(text, "got 'reprise-plan/1', of another build")) << text;
}

}  // namespace
}  // namespace reprise
