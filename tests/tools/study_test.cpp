// `reprise study` as a person and a script meet it: a miniature study is killed, stopped and resumed; what is not its
// own is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using namespace reprise::testing;  // NOLINT

const std::string kConfigs = REPRISE_SOURCE_DIR "/configs/";
constexpr std::size_t kLines = 13;  // the start, and 2 budgets x 2 methods x 3 processes

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void write_lines(const fs::path& file, const std::vector<std::string>& lines) {
  std::ofstream out(file);
  for (const std::string& line : lines) out << line << "\n";
}

class StudyVerb : public ::testing::Test {
 protected:
  /// The miniature, frozen anew: whether the committed file is current is a test of its own.
  void SetUp() override {
    std::string text = file_text(kConfigs + "studies/sparse_write_small.yaml");
    text = text.substr(0, text.find("fingerprints:"));
    text.replace(text.find("../row_memory.yaml"), 18, kConfigs + "row_memory.yaml");
    std::ofstream(file()) << text;
    Outcome prints = reprise("study " + shell_word(file()) + " --print-fingerprints");
    ASSERT_EQ(prints.code, 0) << prints.text;
    std::ofstream(file(), std::ios::app) << prints.text;
  }
  Outcome study(const std::string& name, const std::string& rest = "") const {
    return reprise("study " + shell_word(file()) + " -o " + (folder_ / name).string() + " " + rest);
  }
  std::string file() const { return (folder_ / "sparse_write_small.yaml").string(); }
  fs::path records(const std::string& name) const { return folder_ / name / "records.jsonl"; }

  /// Begins the study and sends `signal` when it has `count` records. Returns the exit code.
  int begin_and_signal(const std::string& name, std::size_t count, int signal) const {
    return signal_program({"study", file(), "-o", (folder_ / name).string(), "processes.budgets=3"}, signal,
                          [&] { return lines_of(records(name)).size() >= count; });
  }

  /// Ids in the order of the file, with the checks that hold for every finished study.
  std::vector<std::string> finished_ids(const std::string& name) const {
    std::vector<std::string> ids;
    std::int64_t order = 0;
    for (const std::string& line : lines_of(records(name))) {
      auto json = nlohmann::json::parse(line);
      EXPECT_EQ(json["status"], "ok") << line;
      if (json["kind"] != "process") continue;
      EXPECT_EQ(json["order"], order++);
      ids.push_back(json["id"]);
    }
    EXPECT_EQ(ids.size() + 1, kLines);
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
    return ids;
  }

  TempFolder folder_;
};

TEST_F(StudyVerb, KilledHalfWayItGoesOnAndTheRecordsAreThoseOfOneRun) {
  Outcome whole = study("whole");
  ASSERT_EQ(whole.code, 0) << whole.text;
  EXPECT_PRED2(contains, whole.text, "[12/12] ");
  EXPECT_PRED2(contains, whole.text, "equal bytes in all 12 processes");
  auto summary = nlohmann::json::parse(std::ifstream(folder_ / "whole" / "summary.json"));
  EXPECT_EQ(summary["cells"].size(), 2u);
  EXPECT_EQ(summary["cells"][0]["pairs"][0]["wall"]["n"], 3);

  EXPECT_EQ(begin_and_signal("killed", 6, SIGKILL), 128 + SIGKILL);
  std::size_t half = lines_of(records("killed")).size();
  EXPECT_LT(half, kLines);
  EXPECT_EQ(study("killed").code, 0);
  EXPECT_EQ(finished_ids("killed"), finished_ids("whole")) << "the order follows from the seed alone";
  ASSERT_EQ(study("other", "seed=2").code, 0);
  EXPECT_NE(finished_ids("other"), finished_ids("whole"));
}

TEST_F(StudyVerb, StoppedPolitelyItSaysSoAndGoesOn) {
  EXPECT_EQ(begin_and_signal("stopped", 4, SIGINT), 130);
  EXPECT_LT(lines_of(records("stopped")).size(), kLines);
  EXPECT_EQ(study("stopped").code, 0);
  finished_ids("stopped");
}

TEST_F(StudyVerb, CorruptedAndForeignRecordsAreRefusedWithTheirLine) {
  ASSERT_EQ(study("a").code, 0);
  std::vector<std::string> lines = lines_of(records("a"));
  auto refused = [&](std::size_t line, const std::string& text) {
    std::vector<std::string> changed = lines;
    changed[line - 1] = text;
    write_lines(records("a"), changed);
    Outcome outcome = study("a");
    EXPECT_EQ(outcome.code, 2) << outcome.text;
    EXPECT_PRED2(contains, outcome.text, "records.jsonl:" + std::to_string(line) + ": expected ");
  };
  refused(5, lines[4].substr(0, 50));
  auto foreign = nlohmann::json::parse(lines[6]);
  foreign["study"] = "another";
  refused(7, foreign.dump());
  foreign = nlohmann::json::parse(lines[6]);
  foreign["id"] = "process/row_memory/both/segment/joint/99";
  refused(7, foreign.dump());
  for (const auto& [field, value] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"method", "whole"}, {"block", 77}, {"order", 0}, {"budget_bytes", 1}, {"cpu_s", {0.5, -0.5}}}) {
    foreign = nlohmann::json::parse(lines[6]);
    foreign[field] = value;
    refused(7, foreign.dump());
  }
  refused(3, lines[1]);
  write_lines(records("a"), lines);
  EXPECT_EQ(study("a").code, 0);
}

TEST_F(StudyVerb, AnotherWorkloadOrOtherKeysAreRefused) {
  Outcome changed = study("a", "overrides.row_memory=train.batch=32");
  EXPECT_EQ(changed.code, 2);
  for (const char* part : {"sparse_write_small.yaml:", "workload row_memory", "its configuration has the fingerprint",
                           "and its step has the trace"}) {
    EXPECT_PRED2(contains, changed.text, std::string(part));
  }
  EXPECT_EQ(study("a", "'~fingerprints.trace'").code, 2);
  fs::remove_all(folder_ / "a");
  ASSERT_EQ(study("a", "--plan-only").code, 0);
  Outcome other = study("a", "processes.budgets=4");
  EXPECT_EQ(other.code, 2);
  EXPECT_PRED2(contains, other.text, "study.yaml there says '  budgets: 3', this one '  budgets: 4'");
  std::ofstream(folder_ / "notes.txt") << "mine";
  EXPECT_EQ(study(".").code, 2) << "a folder with other files is left alone";
}

TEST_F(StudyVerb, AWorkloadThatHasChangedSinceTheStudyBeganIsRefused) {
  std::string text = file_text(file()), rows = (folder_ / "rows.yaml").string(),
              good = file_text(kConfigs + "row_memory.yaml");
  text.replace(text.find(kConfigs), (kConfigs + "row_memory.yaml").size(), rows);
  std::ofstream(file()) << text;
  std::string other = good;
  other.replace(other.find("lr: 0.1"), 7, "lr: 0.2");
  std::ofstream(rows) << good;
  ASSERT_EQ(study("a", "--plan-only").code, 0);
  std::ofstream(rows) << other;
  Outcome refused = study("a");
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_PRED2(contains, refused.text, "its configuration has the fingerprint");
  EXPECT_EQ(lines_of(records("a")).size(), 1u) << "nothing was measured";
  std::ofstream(rows) << good;
  EXPECT_EQ(study("a").code, 0);
  std::ofstream(rows) << other;
  EXPECT_EQ(study("a").code, 0) << "what is done is analysed, whatever became of the file";
}

TEST_F(StudyVerb, MistakesInTheFileAreNamedWithTheirPlace) {
  struct Mistake {
    std::string arguments;
    const char* says;
  };
  for (const Mistake& mistake :
       std::vector<Mistake>{{"type=none", "expects one of sparse_write"},
                            {"process.budgets=3", "Nearest known key is \"processes.budgets\""},
                            {"processes.budgets=0", "at least 1"},
                            {"'methods=[joint,best]'", "got 'best'"},
                            {"ladder.workload=rows", "expected one of the workloads row_memory"},
                            {"processes.of.row_memory=many", "a number of processes"},
                            {"workloads.row_memory=nothing.yaml", "nothing.yaml"},
                            {"overrides.row_memory=model.layer=3", "model.layer"},
                            {"map.workload=row_memory 'map.measured=[9/9]'", "got '9/9'"},
                            {"name=../x", "a folder is named by it"}}) {
    Outcome outcome = study("mistakes", mistake.arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.text;
    EXPECT_PRED2(contains, outcome.text, std::string(mistake.says));
  }
}

TEST_F(StudyVerb, AFailedProcessKeepsItsRecordAndIsDoneAgainOnlyWhenAsked) {
  ASSERT_EQ(study("a", "--plan-only").code, 0);
  fs::path plan = folder_ / "a" / "plans" / "row_memory.both.segment.joint.json";
  fs::rename(plan, plan.string() + ".away");
  Outcome failed = study("a");
  EXPECT_EQ(failed.code, 1) << failed.text;
  EXPECT_PRED2(contains, failed.text, "FAILED: exit code 2: ");
  EXPECT_PRED2(contains, failed.text, "3 tasks failed");
  EXPECT_EQ(lines_of(records("a")).size(), kLines);
  fs::rename(plan.string() + ".away", plan);
  EXPECT_EQ(study("a").code, 1) << "what failed is not done again silently";
  EXPECT_EQ(lines_of(records("a")).size(), kLines);
  EXPECT_EQ(study("a", "--retry-failed").code, 0);
  std::vector<std::string> lines = lines_of(records("a"));
  ASSERT_EQ(lines.size(), kLines + 3) << "the old records stay";
  EXPECT_PRED2(contains, lines.back(), "#2\"");
  EXPECT_EQ(study("a").code, 0);
}

TEST_F(StudyVerb, AnAnswerThatNoRecordCanHoldLeavesARecordOfItsFailure) {
  ASSERT_EQ(study("a", "--plan-only").code, 0);
  std::string file = (folder_ / "a" / "tasks.json").string(), tasks = file_text(file), sound = tasks;
  std::size_t at = tasks.find("\"timed_steps\": 2");
  ASSERT_NE(at, std::string::npos) << tasks;
  tasks.replace(at, 16, "\"timed_steps\": 0");
  std::ofstream(file) << tasks;
  Outcome outcome = study("a");
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_PRED2(contains, outcome.text, "FAILED: its answer is no record: ");
  EXPECT_PRED2(contains, outcome.text, "1 task failed");
  EXPECT_EQ(lines_of(records("a")).size(), kLines);
  std::ofstream(file) << sound;
  EXPECT_EQ(study("a", "--retry-failed").code, 0);
}

TEST_F(StudyVerb, TheMapIsPlannedCellByCellAndMeasuredWhereAsked) {
  Outcome outcome =
      study("map",
            "processes.budgets=1 map.workload=row_memory 'map.table_ratios=[0.25,1]' 'map.written_shares=[0.1]' "
            "map.processes=1 'map.measured=[\"1/0.1\"]'");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::set<std::string> ids;
  for (const std::string& line : lines_of(records("map"))) {
    auto json = nlohmann::json::parse(line);
    if (json["kind"] == "map") {
      EXPECT_GT(json["predicted_s"]["joint"], 0) << line;
    } else if (json["kind"] == "map_measured") {
      EXPECT_LE(json["measured_peak_bytes"], json["budget_bytes"]) << line;
    }
    ids.insert(json["id"]);
  }
  for (const char* id : {"map/0.25/0.1", "map/1/0.1", "map_measured/1/0.1/joint/0", "map_measured/1/0.1/region/0",
                         "map_measured/1/0.1/retain+whole/0"}) {
    EXPECT_TRUE(ids.contains(id)) << id;
  }
  auto start = nlohmann::json::parse(lines_of(records("map")).front());
  EXPECT_EQ(start["tasks"], (nlohmann::json{{"process", 4}, {"map", 2}, {"map_measured", 3}}));
  auto summary = nlohmann::json::parse(std::ifstream(folder_ / "map" / "summary.json"));
  ASSERT_EQ(summary["map"].size(), 2u);
  EXPECT_EQ(summary["map"][0]["measured"], nullptr);
  EXPECT_EQ(summary["map"][1]["measured"]["region"]["wall"]["n"], 1);
}

TEST_F(StudyVerb, SizesMeantForAGpuAreRecordedWithoutARunAndHeldAgainstTheFile) {
  const std::string sizes = shell_word(file()) + " --print-gpu-sizes ";
  Outcome none = reprise("study " + sizes);
  EXPECT_EQ(none.code, 0) << none.text;
  EXPECT_EQ(none.text, "");
  Outcome far = reprise("study " + sizes + "gpu.overrides.row_memory=train.batch=128");
  EXPECT_EQ(far.code, 2) << far.text;
  EXPECT_PRED2(contains, far.text, "expected a step that holds about 64.0 GiB without recomputation, it holds 106.");
  Outcome near = reprise("study " + sizes + "gpu.overrides.row_memory=train.batch=128 gpu.size=106KiB");
  EXPECT_EQ(near.code, 0) << near.text;
  EXPECT_PRED2(contains, near.text, "row_memory: a step holds ");
  if (std::getenv("REPRISE_FULL") == nullptr) return;  // the real sizes take a minute
  Outcome full = reprise("study " + shell_word(kConfigs + "studies/sparse_write.yaml") + " --print-gpu-sizes");
  EXPECT_EQ(full.code, 0) << full.text;
  EXPECT_EQ(std::count(full.text.begin(), full.text.end(), '\n'), 4) << full.text;
}

TEST(StudyFiles, WorkloadsAreThoseThatTheFilesWereFrozenWith) {
  for (const char* name : {"sparse_write_small", "sparse_write", "cifar100_dense_queue_small", "cifar100_dense_queue",
                           "cifar100_dense_queue_full"}) {
    std::string file = kConfigs + "studies/" + name + ".yaml", text = file_text(file);
    Outcome prints = reprise("study " + shell_word(file) + " --print-fingerprints");
    ASSERT_EQ(prints.code, 0) << prints.text;
    EXPECT_TRUE(text.ends_with("\n" + prints.text)) << file << " has other fingerprints than\n" << prints.text;
  }
}

}  // namespace
}  // namespace reprise
