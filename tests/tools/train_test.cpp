// `reprise train` and `reprise eval` as a person meets them: exit codes, messages, files. What training computes is
// tested in tests/models.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "models/run/json_text.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

class TrainVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "tiny.yaml") << R"(threads: 1
model: {type: dense_queue, encoder: {widths: [4], blocks: 1}, projection: {hidden: 8, out: 4}, queue: {size: 32}}
data: {limit: 64, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 2, batch: 16, warmup_steps: 2, log_every: 4}
probe: {epochs: 1, batch: 50}
recompute: {segments: blocks}
)";
  }
  std::string path(const std::string& name) const { return "'" + (folder_ / name).string() + "'"; }
  Outcome train(const std::string& run, const std::string& overrides = "") const {
    return reprise("train " + path("tiny.yaml") + " run.dir=" + path(run) + " " + overrides);
  }

  TempFolder folder_;
};

TEST_F(TrainVerb, TrainsProbesAndLeavesARunFolder) {
  Outcome outcome = train("run");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_PRED2(contains, outcome.text, "epoch 2/2 | step 8/8 | loss ");
  EXPECT_PRED2(contains, outcome.text, "probe: top-1 ");
  EXPECT_PRED2(contains, outcome.text, "probe of the untrained encoder: top-1 ");
  EXPECT_TRUE(fs::exists(folder_ / "run" / "summary.json"));
  Outcome eval = reprise("eval " + path("run"));
  EXPECT_EQ(eval.code, 0) << eval.text;
  EXPECT_PRED2(contains, eval.text, "probe: top-1 ");
  EXPECT_TRUE(fs::exists(folder_ / "run" / "eval.json"));
  Outcome again = train("run");
  EXPECT_EQ(again.code, 2);
  EXPECT_PRED2(contains, again.text, "reprise train --resume");
  EXPECT_EQ(reprise("train --resume " + path("run")).code, 0);
  EXPECT_EQ(reprise("train " + path("tiny.yaml") + " --resume " + path("run")).code, 2);
}

TEST_F(TrainVerb, WithoutAConfigurationTheFolderIsRunsRun) {
  const std::string tiny =
      " train 'model.encoder.widths=[4]' model.encoder.blocks=1 train.batch=16 train.max_steps=1 "
      "probe.epochs=0 data.synthetic.train=100 data.synthetic.test=100 threads=1 --quiet 2>&1";
  const std::string here = "cd " + shell_word(folder_.path().string()) + " && " + program_word();
  for (const char* name : {"run", "run-2"}) {
    Outcome outcome = run_shell(here + tiny);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_TRUE(fs::exists(folder_ / "runs" / name / "summary.json")) << name;
  }
}

/// What a person's first run promises of itself in the README: it takes the minute and more of that run.
TEST_F(TrainVerb, TheDemoLearns) {
  if (!std::getenv("REPRISE_FULL")) GTEST_SKIP() << "in a full run only";
  if (std::getenv("REPRISE_RANDOM_SCALE")) GTEST_SKIP() << "too slow under sanitizers";
  Outcome outcome =
      reprise("train '" REPRISE_SOURCE_DIR "/configs/cifar100_dense_queue.yaml' --quiet run.dir=" + path("demo"));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  Json probe = Json::parse(file_text(folder_ / "demo" / "summary.json")).at("probe");
  auto top1 = probe.at("top1").get<double>(), untrained = probe.at("untrained").at("top1").get<double>();
  EXPECT_GE(top1, 30) << "percent";
  EXPECT_GE(top1, untrained + 10) << "percent";
}

TEST_F(TrainVerb, EvalOfARunWithoutAProbeSaysSo) {
  ASSERT_EQ(train("run", "probe.epochs=0 train.max_steps=1").code, 0);
  Outcome eval = reprise("eval " + path("run"));
  EXPECT_EQ(eval.code, 0) << eval.text;
  EXPECT_PRED2(contains, eval.text, "probe: none");
}

TEST_F(TrainVerb, QuietPrintsNothingButTheControlAlwaysWarns) {
  Outcome quiet = train("a", "--quiet");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.text, "");
  Outcome unchecked = train("b", "--quiet recompute.method=unchecked");
  EXPECT_EQ(unchecked.code, 0);
  EXPECT_PRED2(contains, unchecked.text, "not to be trusted");
}

TEST_F(TrainVerb, MistakesExitTwoAndALossThatIsNotFiniteExitsOne) {
  Outcome method = train("a", "recompute.method=fast");
  EXPECT_EQ(method.code, 2);
  EXPECT_PRED2(contains, method.text, "recompute.method");
  Outcome budget = train("b", "memory.budget=100KiB");
  EXPECT_EQ(budget.code, 2);
  EXPECT_PRED2(contains, budget.text, "too small for this run: expected at least ");
  EXPECT_PRED2(contains, budget.text, "got 102400 bytes");
  EXPECT_FALSE(fs::exists(folder_ / "b")) << "a run that cannot begin leaves no folder";
  EXPECT_EQ(reprise("train --resume " + path("nothing")).code, 2);
  EXPECT_EQ(reprise("eval " + path("nothing")).code, 2);
  Outcome data = train("c", "data.path=" + path("nothing"));
  EXPECT_EQ(data.code, 2);
  EXPECT_PRED2(contains, data.text, "cifar-100-binary.tar.gz");
  Outcome infinite = train("d", "train.lr=1e36 train.warmup_steps=0");
  EXPECT_EQ(infinite.code, 1) << infinite.text;
  EXPECT_PRED2(contains, infinite.text, "the first op whose output is not finite is ");
  Outcome next = train("d");
  EXPECT_EQ(next.code, 0) << next.text;
  EXPECT_PRED2(contains, next.text, "held a run that ended before its first checkpoint");
}

TEST_F(TrainVerb, OutputThatNobodyReadsCostsNoStep) {
  Outcome outcome = run_shell("( { sleep 0.2; " + program_word() + " train " + path("tiny.yaml") +
                              " run.dir=" + path("run") + "; echo $? >&2; } | true ) 2>&1");
  EXPECT_PRED2(contains, outcome.text, "error (io)");
  EXPECT_PRED2(contains, outcome.text, "1\n");
  EXPECT_TRUE(fs::exists(folder_ / "run" / "summary.json"));
}

/// In a matrix product the stack register may point into the heap (core/interrupt.cpp): a signal must not write there.
TEST_F(TrainVerb, AnInterruptAtAnyMomentOfAMatrixProductEndsWith130) {
  int times = std::getenv("REPRISE_FULL") ? 60 : 8;
  for (int i = 0; i < times; ++i) {
    fs::remove_all(folder_ / "run");
    std::vector<std::string> arguments = {"train", REPRISE_SOURCE_DIR "/configs/row_memory.yaml"};
    for (const char* word : {"model.layers=6", "model.table.rows=2000", "model.writes=50", "train.batch=512",
                             "train.epochs=100000", "threads=1", "train.log_every=1000", "--quiet"}) {
      arguments.emplace_back(word);
    }
    arguments.push_back("run.dir=" + (folder_ / "run").string());
    Child child = run_program(arguments, 0.4 + 0.013 * (i % 20), i % 2 == 0 ? SIGINT : SIGTERM);
    EXPECT_TRUE(child.code == 130 || child.seconds < 0.4) << child.code;
  }
}

}  // namespace
}  // namespace reprise
