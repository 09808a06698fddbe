// A run after its training: its best weights are evaluated, it goes on with other keys or from an older checkpoint, and
// what it cannot do is said instead of left aside.
#include <filesystem>

#include "data/text_file.h"
#include "models/run/json_text.h"
#include "tests/tools/tiny_runs.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

class RunCare : public TinyRuns {
 protected:
  Json json_of(const std::string& name) const { return Json::parse(file_text(folder_ / name)); }
};

TEST_F(RunCare, EvalTakesTheBestWeightsWhenAsked) {
  const std::string care = "probe.epochs=1 probe.baseline=false train.log_every=1 train.keep_best=images_per_second";
  ASSERT_EQ(train("run", care).code, 0);
  const Json best = json_of("run/summary.json")["best"];
  // Weights of another run stand in for the best ones, so that they differ from the newest for sure.
  ASSERT_EQ(train("other", care + " seed=5").code, 0);
  fs::copy_file(folder_ / "other/best.safetensors", folder_ / "run/best.safetensors",
                fs::copy_options::overwrite_existing);
  Outcome newest = reprise("eval " + path("run"));
  EXPECT_EQ(newest.code, 0) << newest.text;
  Outcome asked = reprise("eval " + path("run") + " --best -o " + path("best.json"));
  EXPECT_EQ(asked.code, 0) << asked.text;
  const Json other = json_of("other/summary.json")["best"];
  EXPECT_PRED2(contains, asked.text, "the weights of step " + other["step"].dump());
  EXPECT_EQ(json_of("best.json")["step"], other["step"]);
  EXPECT_EQ(json_of("best.json")["weights"], "best.safetensors");
  EXPECT_FALSE(json_of("run/eval.json").contains("weights")) << "-o leaves eval.json alone";
  EXPECT_TRUE(json_of("best.json")["probe"].is_object());
  ASSERT_EQ(reprise("train " + path("tiny.yaml") + " --quiet train.epochs=0 probe.epochs=1 probe.baseline=false" +
                    " model.init=" + path("run/best.safetensors") + " run.dir=" + path("begun"))
                .code,
            0);
  EXPECT_EQ(json_of("best.json")["probe"], json_of("begun/summary.json")["probe"]) << "as a run that begins with them";
}

TEST_F(RunCare, EvalNamesWhatItLacksBeforeTheWork) {
  ASSERT_EQ(train("run", "train.max_steps=1").code, 0);
  Outcome none = reprise("eval " + path("run") + " --best");
  EXPECT_EQ(none.code, 2) << none.text;
  EXPECT_PRED2(contains, none.text, "train.keep_best");
  Outcome nowhere = reprise("eval " + path("run") + " -o " + path("nowhere/x.json"));
  EXPECT_EQ(nowhere.code, 2) << nowhere.text;
  EXPECT_PRED2(contains, nowhere.text, "[eval] cannot write ");
  EXPECT_FALSE(contains(nowhere.text, "probe:")) << nowhere.text;
  for (const char* file : {"checkpoint.safetensors", "state.json", "config.yaml", "metrics.jsonl"}) {
    const std::string before = file_text(folder_ / "run" / file);
    Outcome over = reprise("eval " + path("run") + " -o " + path("run/") + file);
    EXPECT_EQ(over.code, 2) << over.text;
    EXPECT_PRED2(contains, over.text, "it is read from");
    EXPECT_EQ(file_text(folder_ / "run" / file), before);
  }
  // Before images are looked for, which may be gone.
  fs::remove(folder_ / "run/state.json");
  Outcome empty = reprise("eval " + path("run") + " data.path=" + path("gone"));
  EXPECT_EQ(empty.code, 2) << empty.text;
  EXPECT_PRED2(contains, empty.text, "expected a run with a checkpoint");
}

TEST_F(RunCare, EvalLeavesTheStandardOutputToItsFigures) {
  ASSERT_EQ(train("run", "train.max_steps=1 probe.epochs=1 probe.baseline=false").code, 0);
  Outcome figures = reprise("eval " + path("run") + " -o -", "2>/dev/null");
  EXPECT_EQ(figures.code, 0);
  EXPECT_TRUE(Json::parse(figures.text, nullptr, false).is_object()) << figures.text;
  EXPECT_PRED2(contains, reprise("eval " + path("run") + " -o -", "2>&1 >/dev/null").text, "probe:");
}

TEST_F(RunCare, OtherInitialWeightsAreRefusedWhereTheCheckpointCounts) {
  ASSERT_EQ(train("run", "train.max_steps=2 train.keep_best=loss").code, 0);
  const std::string init = " model.init=" + path("run/best.safetensors");
  for (const std::string& command : {"eval " + path("run") + init, "train --resume " + path("run") + init}) {
    Outcome refused = reprise(command);
    EXPECT_EQ(refused.code, 2) << command << "\n" << refused.text;
    EXPECT_PRED2(contains, refused.text, "model.init");
    EXPECT_PRED2(contains, refused.text, "--best");
  }
  EXPECT_FALSE(contains(file_text(folder_ / "run/config.yaml"), "best.safetensors"));
  // A run that began with such weights goes on and is evaluated as ever, also when they are gone.
  fs::copy_file(folder_ / "run/best.safetensors", folder_ / "first.safetensors");
  ASSERT_EQ(train("next", "train.max_steps=1 model.init=" + path("first.safetensors")).code, 0);
  fs::remove(folder_ / "first.safetensors");
  EXPECT_EQ(reprise("train --quiet --resume " + path("next") + " train.max_steps=2").code, 0);
  EXPECT_EQ(reprise("eval " + path("next")).code, 0);
}

TEST_F(RunCare, KeysThatChangeOnTheWayAreSaid) {
  ASSERT_EQ(train("run", "train.max_steps=3").code, 0);
  Outcome same = reprise("train --resume " + path("run"));
  EXPECT_FALSE(contains(same.text, "note: from step")) << same.text;
  Outcome changed = reprise("train --resume " + path("run") + " train.max_steps=4 train.lr=0.25 train.keep_best=loss");
  EXPECT_EQ(changed.code, 0) << changed.text;
  EXPECT_PRED2(contains, changed.text,
               "note: from step 4 on train.max_steps = 4 (was 3), train.lr = 0.25 (was 0.1), "
               "train.keep_best = loss (was \"\")\n");
}

TEST_F(RunCare, ADamagedCheckpointNamesTheWayBackToAnOlderOne) {
  ASSERT_EQ(train("whole").code, 0);
  ASSERT_EQ(train("run", "train.checkpoint_every=3").code, 0);  // of 8 steps: 6 and 8 stay
  const fs::path newest = folder_ / "run/checkpoint-00000008.safetensors";
  fs::remove(folder_ / "run/checkpoint.safetensors");
  fs::resize_file(newest, fs::file_size(newest) / 2);
  for (const char* verb : {"train --resume ", "eval "}) {
    Outcome refused = reprise(verb + path("run"));
    EXPECT_EQ(refused.code, 2) << refused.text;
    EXPECT_PRED2(contains, refused.text, "cut short");
    EXPECT_PRED2(contains, refused.text, "a checkpoint of step 6");
  }
  std::string text = reprise("eval " + path("run")).text;
  std::size_t way = text.find("cp --remove-destination ");
  ASSERT_NE(way, std::string::npos) << text;
  ASSERT_EQ(run_shell(text.substr(way)).code, 0) << text;
  Outcome resumed = reprise("train --resume " + path("run"));
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_PRED2(contains, resumed.text, "going on after step 6");
  EXPECT_EQ(json_of("run/summary.json")["hash"], json_of("whole/summary.json")["hash"]);
}

TEST_F(RunCare, AFileThatMayNotGrowIsAnErrorAndNotTheEnd) {
  ASSERT_EQ(train("run", "train.max_steps=1").code, 0);
  Outcome limited =
      run_shell("(ulimit -f 4; " + program_word() + " export " + path("run") + " --npz -o " + path("x.npz") + ") 2>&1");
  EXPECT_EQ(limited.code, 1) << limited.text;
  EXPECT_PRED2(contains, limited.text, "error (io): ");
  EXPECT_PRED2(contains, limited.text, "File too large");
  EXPECT_FALSE(fs::exists(folder_ / "x.npz"));
}

}  // namespace
}  // namespace reprise
