// Every operation by which a run changes its folder is made to fail in turn, and the process to die before it or in the
// middle of it (tests/shim/failing_disk.cpp). After each the run goes on from its last good checkpoint and ends with
// the same bytes as one that nothing happened to.
#include <cstdlib>
#include <map>
#include <set>

#include "tests/models/tiny_run.h"
#include "tests/support/program.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

// Two checkpoints, of which one stays; best weights, event file, metrics, summary.
const char* const kRun = R"(seed: 3
threads: 1
model: {type: classifier, encoder: {widths: [4], blocks: 1}}
data: {limit: 32, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 1, batch: 16, lr: 0.05, warmup_steps: 0, checkpoint_every: 1, checkpoints_kept: 1, log_every: 1, keep_best: accuracy}
)";

struct Operation {
  int number = 0;
  std::string what, name;  // the name without folder
};

class FailingDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(scratch_ / "run.yaml") << kRun;
    Outcome outcome = run_shell(program(begin("whole")));
    ASSERT_EQ(outcome.code, 0) << outcome.text;
  }

  std::string word(const std::string& name) const { return shell_word((scratch_ / name).string()); }
  std::string begin(const std::string& run) const {
    return "train " + word("run.yaml") + " --quiet run.dir=" + word(run);
  }
  std::string resume(const std::string& run) const {
    return "train --resume " + word(run) + " --quiet train.max_steps=0";
  }
  static std::string program(const std::string& arguments) { return program_word() + " " + arguments + " 2>&1"; }
  /// The command with `how` happening to operation `at` below the folder of `run`.
  std::string failing(const std::string& run, const std::string& arguments, int at, const std::string& how) const {
    return "ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" + shell_word(REPRISE_FAILING_DISK) +
           " FAILING_DISK_FOLDER=" + word(run) + " FAILING_DISK_LOG=" + word("log") +
           " FAILING_DISK_AT=" + std::to_string(at) + " FAILING_DISK_HOW=" + how + " " + program(arguments);
  }

  /// What a run does to its folder, in order.
  std::vector<Operation> operations(const std::string& run, const std::string& arguments) const {
    fs::remove(scratch_ / "log");
    Outcome outcome = run_shell(failing(run, arguments, 0, "EIO"));
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    std::vector<Operation> all;
    std::ifstream in(scratch_ / "log");
    Operation one;
    for (std::string path; in >> one.number >> one.what && std::getline(in, path); all.push_back(one)) {
      one.name = fs::path(path).filename().string();
    }
    return all;
  }

  /// Whether each write of a checkpoint is made to fail: some 400 cases of two runs of 0.2 s each. Under sanitizers
  /// (REPRISE_RANDOM_SCALE) those would take a quarter of an hour.
  static bool every_write() {
    return std::getenv("REPRISE_SOAK") || (std::getenv("REPRISE_FULL") && !std::getenv("REPRISE_RANDOM_SCALE"));
  }

  /// Those worth trying: of many writes to one file the first, a middle one and the last, but every one of a checkpoint
  /// where every_write(). With `step`, each step-th.
  static std::vector<Operation> chosen(const std::vector<Operation>& all, std::size_t step, std::size_t first) {
    std::map<std::string, std::vector<int>> writes;
    for (const Operation& o : all) {
      if (o.what == "write") writes[o.name].push_back(o.number);
    }
    std::vector<Operation> some;
    for (const Operation& o : all) {
      const std::vector<int>& list = writes[o.name];
      bool plain = list.size() <= 6 || o.what != "write" || (every_write() && o.name.starts_with("checkpoint-"));
      if (plain || o.number == list.front() || o.number == list[list.size() / 2] || o.number == list.back())
        some.push_back(o);
    }
    std::vector<Operation> few;
    for (std::size_t i = first; i < some.size(); i += step) few.push_back(some[i]);
    return few;
  }

  std::set<std::string> names(const std::string& run) const {
    std::set<std::string> all;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(scratch_ / run, error)) {
      std::string name = entry.path().filename().string();
      if (!name.starts_with("events.")) all.insert(name);  // a resumed run has a second one
    }
    return all;
  }
  bool partial_files(const std::string& run) const {
    for (const std::string& name : names(run)) {
      if (contains(name, "partial")) return true;
    }
    return false;
  }

  void expect_failure(const Outcome& outcome, const Operation& o, const std::string& how) const {
    // What the program can do without: removing what is old, and links where a copy does.
    if (o.what == "remove" || o.what == "link") {
      EXPECT_EQ(outcome.code, 0) << outcome.text;
      return;
    }
    EXPECT_EQ(outcome.code, 1) << outcome.text;
    EXPECT_PRED2(contains, outcome.text, "error (io): ");
    EXPECT_PRED2(contains, outcome.text, (scratch_ / "run").string());
    EXPECT_PRED2(contains, outcome.text, how == "EIO" ? "Input/output error" : "No space left on device");
    EXPECT_FALSE(partial_files("run"));
  }

  void expect_same_end(const Operation& o) const {
    EXPECT_EQ(deterministic_lines(scratch_ / "run"), deterministic_lines(scratch_ / "whole"));
    EXPECT_EQ(Json::parse(file_text(scratch_ / "run" / "summary.json"))["hash"],
              Json::parse(file_text(scratch_ / "whole" / "summary.json"))["hash"]);
    EXPECT_EQ(file_text(scratch_ / "run" / "checkpoint.safetensors"),
              file_text(scratch_ / "whole" / "checkpoint.safetensors"));
    EXPECT_FALSE(partial_files("run"));
    if (o.what != "remove") {
      EXPECT_EQ(names("run"), names("whole"));
    }
  }

  /// One failure, what is said of it, and the run going on. `prepare` makes the folder as it is before.
  void try_one(const Operation& o, const std::string& how, const std::string& arguments, bool resumed) {
    SCOPED_TRACE(how + " at operation " + std::to_string(o.number) + ", " + o.what + " " + o.name);
    fs::remove_all(scratch_ / "run");
    if (resumed) fs::copy(scratch_ / "half", scratch_ / "run");
    Outcome outcome = run_shell(failing("run", arguments, o.number, how));
    if (how == "kill") {
      EXPECT_EQ(outcome.code, 128 + SIGKILL) << outcome.text;
    } else if (how == "short" || (how == "full" && o.what != "write")) {
      EXPECT_EQ(outcome.code, 0) << outcome.text;
    } else {
      expect_failure(outcome, o, how);
    }
    if (outcome.code != 0) {
      bool begun = fs::exists(scratch_ / "run" / "config.yaml");
      Outcome again = run_shell(program(begun ? resume("run") : begin("run")));
      EXPECT_EQ(again.code, 0) << again.text;
    }
    expect_same_end(o);
  }

  void try_all(const std::string& how, std::size_t offset) {
    std::size_t step = std::getenv("REPRISE_FULL") || std::getenv("REPRISE_SOAK") ? 1 : 6;
    if (std::getenv("REPRISE_RANDOM_SCALE") && step > 1) step = 15;
    for (const Operation& o : chosen(operations("run", begin("run")), step, offset % step)) {
      if ((how == "short" || how == "full") && o.what != "write") continue;
      try_one(o, how, begin("run"), false);
      if (::testing::Test::HasFailure()) return;
    }
    ASSERT_EQ(run_shell(program(begin("half") + " train.max_steps=1")).code, 0);
    fs::remove_all(scratch_ / "run");
    fs::copy(scratch_ / "half", scratch_ / "run");
    for (const Operation& o : chosen(operations("run", resume("run")), step, offset % step)) {
      if ((how == "short" || how == "full") && o.what != "write") continue;
      try_one(o, how, resume("run"), true);
      if (::testing::Test::HasFailure()) return;
    }
  }

  TempFolder scratch_;
};

TEST_F(FailingDisk, IsCountedWhole) {
  std::vector<Operation> all = operations("run", begin("run"));
  std::set<std::string> kinds, files;
  for (const Operation& o : all) kinds.insert(o.what), files.insert(o.name);
  for (const char* kind : {"open", "write", "sync", "rename", "link", "remove"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  for (const char* file : {"config.yaml", "metrics.jsonl", "summary.json", "state.json", "checkpoint.safetensors",
                           "run", "best.safetensors", "checkpoint-00000001.safetensors", "state-00000002.json"}) {
    EXPECT_TRUE(files.contains(file)) << file;
  }
}

/// What `chosen` leaves out is other files' writes: none of a checkpoint's where every write is asked for.
TEST_F(FailingDisk, EveryWriteOfACheckpointIsChosenInAFullRun) {
  std::vector<Operation> all = operations("run", begin("run"));
  auto writes = [](const std::vector<Operation>& list) {
    std::map<std::string, int> count;
    for (const Operation& o : list) count[o.name] += o.what == "write" && o.name.starts_with("checkpoint-");
    return count;
  };
  std::map<std::string, int> made = writes(all), tried = writes(chosen(all, 1, 0));
  for (const char* name : {"checkpoint-00000001.safetensors.partial", "checkpoint-00000002.safetensors.partial"}) {
    EXPECT_GT(made[name], 6) << name << " is written tensor by tensor";
    EXPECT_EQ(tried[name], every_write() ? made[name] : 3) << name;
  }
}

TEST_F(FailingDisk, AnErrorOfTheDiskAtAnyOperationLosesNothing) { try_all("EIO", 0); }
TEST_F(FailingDisk, AFullOneAtAnyOperationLosesNothing) { try_all("ENOSPC", 2); }
TEST_F(FailingDisk, OneThatIsFullInTheMiddleOfAWriteLosesNothing) { try_all("full", 4); }
TEST_F(FailingDisk, AWriteThatTakesAPartIsGoneOnWith) { try_all("short", 1); }
TEST_F(FailingDisk, AKillBetweenAnyTwoOperationsLosesNothing) { try_all("kill", 3); }

}  // namespace
}  // namespace reprise
