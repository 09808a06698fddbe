// `reprise plan` and plans in `reprise explain`, as a person and a script meet them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using namespace reprise::testing;  // NOLINT

const char* const kTiny = R"(seed: 3
threads: 1
model:
  type: dense_queue
  encoder: {widths: [4, 8], blocks: 1}
  projection: {hidden: 8, out: 4}
  queue: {size: 48}
data: {limit: 64, prefetch: 1, synthetic: {train: 200, test: 100}}
train: {epochs: 3, batch: 16, lr: 0.05, warmup_steps: 2}
probe: {epochs: 0}
recompute: {segments: blocks, profile_steps: 1}
)";

/// The number after `words` in a text.
std::int64_t number_after(const std::string& text, const std::string& words) {
  std::size_t at = text.find(words);
  if (at == std::string::npos) return -1;
  return std::strtoll(text.c_str() + at + words.size(), nullptr, 10);
}

class PlanVerb : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(folder_ / "tiny.yaml") << kTiny; }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Outcome plan(const std::string& rest) const { return reprise("plan " + path("tiny.yaml") + " " + rest); }
  Outcome explain(const std::string& rest) const { return reprise("explain " + path("tiny.yaml") + " " + rest); }
  /// Measures once; later calls of a test plan with these times.
  std::string profile() const {
    if (!fs::exists(path("profile.json"))) {
      EXPECT_EQ(plan(budget() + "--profile-out " + path("profile.json")).code, 0);
    }
    return " recompute.profile=" + path("profile.json") + " ";
  }
  std::int64_t smallest() const {
    return number_after(plan("memory.budget=10KiB").text, "smallest feasible budget is ");
  }
  /// A fifth above the smallest, which depends on the workspace of kernels.
  std::string budget() const {
    if (budget_.empty()) budget_ = "memory.budget=" + std::to_string(smallest() / 5 * 6) + " ";
    return budget_;
  }
  TempFolder folder_;
  mutable std::string budget_;
};

TEST_F(PlanVerb, ATableATimeAndAFileThatTrainingGoesBy) {
  Outcome made = plan(budget() + profile() + "-o " + path("plan.json"));
  ASSERT_EQ(made.code, 0) << made.text;
  for (const char* part :
       {"segment", "layer1.0", "head", "plan joint: ", "lower bound", "gap", "planned in", "written to"}) {
    EXPECT_PRED2(contains, made.text, std::string(part));
  }
  auto json = nlohmann::json::parse(file_text(path("plan.json")));
  std::int64_t peak = json["predicted_peak"];
  EXPECT_EQ(json["method"], "joint");
  EXPECT_EQ("memory.budget=" + json["budget"].dump() + " ", budget());
  EXPECT_LE(peak, json["budget"]);
  ASSERT_EQ(reprise("train " + path("tiny.yaml") + " train.max_steps=3 run.dir=" + path("run") +
                    " recompute.plan=" + path("plan.json"))
                .code,
            0);
  EXPECT_EQ(nlohmann::json::parse(file_text(path("run") + "/summary.json"))["memory"]["peak_bytes"], peak);
}

TEST_F(PlanVerb, TheSmallestBudgetThatIsNamedIsOneByteAboveWhatFails) {
  Outcome none = plan("memory.budget=10KiB");
  EXPECT_EQ(none.code, 2);
  for (const char* part : {"smallest feasible budget is", "MiB", "The step that binds: backward of", "Live there: "}) {
    EXPECT_PRED2(contains, none.text, std::string(part));
  }
  std::int64_t bytes = smallest();
  ASSERT_GT(bytes, 10 << 10) << none.text;
  EXPECT_EQ(plan("memory.budget=" + std::to_string(bytes) + profile()).code, 0);
  Outcome below = plan("memory.budget=" + std::to_string(bytes - 1) + profile());
  EXPECT_EQ(below.code, 2) << below.text;
  EXPECT_EQ(number_after(below.text, "smallest feasible budget is "), bytes);
  Outcome trained = reprise("train " + path("tiny.yaml") + " recompute.method=joint run.dir=" + path("run") +
                            " memory.budget=" + std::to_string(bytes - 1));
  EXPECT_EQ(trained.code, 2);
  EXPECT_PRED2(contains, trained.text, "smallest feasible budget");
  Outcome narrow = plan("recompute.method=retain memory.budget=" + std::to_string(bytes) + profile());
  EXPECT_EQ(narrow.code, 2);
  EXPECT_PRED2(contains, narrow.text, "It would fit with whole allowed");
}

TEST_F(PlanVerb, AMethodThatIsTypedIsTheOnePlannedHoweverItIsTyped) {
  const std::string out = path("plan.json");
  auto method = [&](const std::string& typed) {
    Outcome outcome = plan(typed + profile() + "-o " + out);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    return nlohmann::json::parse(file_text(out))["method"].get<std::string>();
  };
  EXPECT_EQ(method("recompute.method=retain"), "retain");
  EXPECT_EQ(method("++recompute.method=retain"), "retain");
  EXPECT_EQ(method(""), "joint");
}

TEST_F(PlanVerb, AllMethodsSideBySide) {
  Outcome all = plan("--all memory.budget=" + std::to_string(smallest()) + profile());
  EXPECT_EQ(all.code, 0);
  for (const char* part : {"retain+whole", "retain+region", "whole+region", "joint", "needs "})
    EXPECT_PRED2(contains, all.text, std::string(part));
  Outcome none = plan("--all memory.budget=10KiB" + profile());
  EXPECT_EQ(none.code, 2) << none.text;
  EXPECT_PRED2(contains, none.text, "joint ");
}

TEST_F(PlanVerb, MistakesAreNamedBeforeAnythingIsMeasured) {
  struct Mistake {
    std::string arguments;
    int code;
    const char* says;
  };
  std::ofstream(path("no.json")) << "{}";
  for (const Mistake& mistake :
       std::vector<Mistake>{{"recompute.method=best", 2, "expects one of retain"},
                            {"recompute.method=unchecked", 2, "negative control"},
                            {"memory.budget=3Mi", 2, "number of bytes"},
                            {"memory.budget=0", 2, "expected room"},
                            {"recompute.plan=x.json", 2, "expected no stored plan"},
                            {"'recompute.options={head: retain}'", 2, "expected no options"},
                            {"recompute.profile=" + path("no.json"), 2, "reprise-profile/2"},
                            {"recompute.profile=/nonexistent.json", 2, "cannot open /nonexistent.json"},
                            {"--frontier", 2, "-o DIR"},
                            {"--frontier --all -o x", 2, "got both"},
                            {"--all -o x.json", 2, "expected one plan"},
                            {"--measure", 2, "--frontier"},
                            {"-o /nonexistent/plan.json", 2, "there is no folder /nonexistent"},
                            {"--profile-out /nonexistent/profile.json", 2, "there is no folder /nonexistent"}}) {
    Outcome outcome = plan(mistake.arguments);
    EXPECT_EQ(outcome.code, mistake.code) << mistake.arguments << "\n" << outcome.text;
    EXPECT_PRED2(contains, outcome.text, std::string(mistake.says));
    EXPECT_FALSE(contains(outcome.text, "profiling")) << mistake.arguments;
  }
  EXPECT_EQ(reprise("plan /nonexistent.yaml").code, 2);
  Outcome stale = plan("model.losses=2" + profile());
  EXPECT_EQ(stale.code, 2);
  EXPECT_PRED2(contains, stale.text, "expected a profile of this step");
}

TEST_F(PlanVerb, CanBeInterruptedWhileItProfiles) {
  std::vector<std::string> arguments = {"plan", path("tiny.yaml"), "recompute.profile_steps=1000000", "-o",
                                        path("plan.json")};
  Child child = run_program(arguments, 1.0, SIGINT);
  EXPECT_EQ(child.code, 130);
  EXPECT_FALSE(fs::exists(path("plan.json")));
}

TEST_F(PlanVerb, TheFrontierIsAFolderOfTablesAndPictures) {
  ASSERT_EQ(plan("--frontier -o " + path("frontier") + profile()).code, 0);
  std::istringstream table(file_text(path("frontier") + "/frontier.csv"));
  std::string head, line;
  std::getline(table, head);
  EXPECT_TRUE(head.starts_with("granularity,method,budget_bytes,")) << head;
  std::set<std::string> methods;
  while (std::getline(table, line))
    methods.insert(line.substr(line.find(',') + 1, line.find(',', line.find(',') + 1) - line.find(',') - 1));
  EXPECT_EQ(methods.size(), 7u);
  EXPECT_PRED2(contains, file_text(path("frontier") + "/frontier.svg"), "<svg");
}

TEST_F(PlanVerb, AMeasuredFrontierHoldsWhatEachMethodTookAndThePredictedPeaks) {
  Outcome outcome = plan("--frontier --measure -o " + path("frontier") + profile());
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::istringstream table(file_text(path("frontier") + "/frontier.csv"));
  std::string line;
  std::getline(table, line);
  ASSERT_EQ(line,
            "granularity,method,budget_bytes,predicted_peak_bytes,predicted_ms,lower_bound_ms,retained,replayed,"
            "measured_ms,measured_spread,measured_peak_bytes,reference_ms,off_by,off_beside_reference");
  std::map<std::string, int> measured;
  int planned = 0;
  while (std::getline(table, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    ASSERT_GE(cells.size(), 8u) << line;
    ++planned;
    if (line.ends_with(",,,")) continue;
    ASSERT_EQ(cells.size(), 14u) << line;
    EXPECT_GT(std::stod(cells[8]), 0) << line;
    EXPECT_GT(std::stod(cells[11]), 0) << line;
    EXPECT_NEAR(std::stod(cells[12]), std::stod(cells[8]) / std::stod(cells[4]) - 1, 2e-3) << line;
    EXPECT_EQ(cells[10], cells[3]) << "the peak is a promise: " << line;
    ++measured[cells[1]];
  }
  EXPECT_EQ(measured.size(), 7u) << "each method is measured";
  EXPECT_GE(measured["joint"], 2) << "at more than one budget";
  int runs = 0;
  for (const auto& [method, count] : measured) runs += count;
  EXPECT_LT(runs, planned) << "equal plans run once";
  EXPECT_PRED2(contains, outcome.text, "as predicted");
  EXPECT_FALSE(contains(outcome.text, "bytes instead of")) << outcome.text;
  EXPECT_PRED2(contains, outcome.text, "pairs in the predicted order");
  EXPECT_PRED2(contains, file_text(path("frontier") + "/frontier.svg"), "points: measured");
}

TEST_F(PlanVerb, ExplainDrawsAStepWhoseMeasuredChangesAreThePredictedOnes) {
  ASSERT_EQ(plan(budget() + "-o " + path("plan.json") + profile()).code, 0);
  Outcome text = explain("--plan " + path("plan.json") + " -o " + path("memory.svg"));
  EXPECT_EQ(text.code, 0) << text.text;
  for (const char* part :
       {"Predicted and measured are equal, event by event", "Binding (within 1 % of the peak): backward of", "owes"}) {
    EXPECT_PRED2(contains, text.text, std::string(part));
  }
  std::string svg = file_text(path("memory.svg"));
  for (const char* part : {"predicted", "measured", "activations", "binding: "})
    EXPECT_PRED2(contains, svg, std::string(part));
  for (const char* more : {"", "train.accumulate=2 model.losses=2 model.queue.layout=shift"}) {
    Outcome json = reprise("explain " + path("tiny.yaml") + " recompute.method=joint " + budget() + "--json " + more,
                           "2>/dev/null");
    ASSERT_EQ(json.code, 0) << json.text;
    auto read = nlohmann::json::parse(json.text);
    EXPECT_EQ(read["memory"]["equal"], true);
    EXPECT_EQ(read["memory"]["predicted_peak_bytes"], read["plan"]["predicted_peak"]);
    EXPECT_GT(read["memory"]["predicted"]["live"].size(), 100u);
  }
}

TEST_F(PlanVerb, ExplainRefusesAPlanOfAnotherStep) {
  ASSERT_EQ(plan(budget() + "-o " + path("plan.json") + profile()).code, 0);
  Outcome stale = explain("--plan " + path("plan.json") + " train.batch=8");
  EXPECT_EQ(stale.code, 2);
  EXPECT_PRED2(contains, stale.text, "expected a plan for this step");
  EXPECT_EQ(explain("--plan /nonexistent.json").code, 2);
  EXPECT_EQ(explain("memory.budget=1MiB --plan " + path("plan.json")).code, 2);
}

}  // namespace
}  // namespace reprise
