// Resume is bitwise: a run that was killed or interrupted, and resumed, ends with the same bytes in every parameter and
// state and the same deterministic fields of metrics.jsonl as one that never was.
#include <cstdlib>
#include <random>

#include "core/interrupt.h"
#include "models/run/run_folder.h"
#include "tests/models/tiny_run.h"
#include "tests/support/program.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

// Everything that must come back: dropout's stream, the queue and its pointer, statistics, momentum, clipping.
const std::vector<std::string> kFeatures = {"model.dropout=0.25",      "model.losses=2",    "train.accumulate=2",
                                            "train.clip_norm=1.0",     "train.epochs=12",   "train.log_every=3",
                                            "train.epoch_hashes=true", "eval.hash_images=8"};

// A soak kills 1,000 times, in parts, so that an interrupted one goes on where it was.
int kills_wanted() {
  if (std::getenv("REPRISE_SOAK")) return 50;
  if (std::getenv("REPRISE_FULL")) return 20;
  return 3;
}
int parts() { return std::getenv("REPRISE_SOAK") ? 20 : 1; }

void expect_same_run(const fs::path& a, const fs::path& b) {
  EXPECT_EQ(deterministic_lines(a), deterministic_lines(b));
  Json first = Json::parse(file_text(a / "summary.json")), second = Json::parse(file_text(b / "summary.json"));
  EXPECT_EQ(first["hash"], second["hash"]);
  EXPECT_EQ(first["probe"], second["probe"]);
  EXPECT_EQ(first["steps"], second["steps"]);
  EXPECT_EQ(first["memory"]["peak_bytes"], second["memory"]["peak_bytes"]);
  EXPECT_EQ(file_text(a / "checkpoint.safetensors"), file_text(b / "checkpoint.safetensors"));
}

std::vector<std::string> train_arguments(const fs::path& config, const fs::path& folder, const std::string& every) {
  std::vector<std::string> all = {"train", config.string(), "run.dir=" + folder.string(),
                                  "train.checkpoint_every=" + every};
  all.insert(all.end(), kFeatures.begin(), kFeatures.end());
  return all;
}

class KilledRun : public ::testing::TestWithParam<int> {};

TEST_P(KilledRun, EndsWithTheSameBytesWheneverItIsKilled) {
  TempFolder scratch;
  std::ofstream(scratch / "tiny.yaml") << kTinyQueue;
  Child whole = run_program(train_arguments(scratch / "tiny.yaml", scratch / "whole", "1"));
  ASSERT_EQ(whole.code, 0);
  std::uint32_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  auto start = [&](const fs::path& folder, double kill_after) {
    // A run that was killed before it had a configuration starts anew.
    if (!fs::exists(folder / "config.yaml"))
      return run_program(train_arguments(scratch / "tiny.yaml", folder, "1"), kill_after);
    return run_program({"train", "--resume", folder.string()}, kill_after);
  };
  const int wanted = kills_wanted();
  for (int kills = 0, lives = 0; kills < wanted;) {
    fs::path folder = scratch / ("killed" + std::to_string(lives++));
    double most = whole.seconds;
    while (kills < wanted) {
      Child child = start(folder, std::uniform_real_distribution<double>(0, most)(random));
      if (child.code == 0) break;  // the kill came too late
      ASSERT_EQ(child.code, 128 + SIGKILL);
      ++kills;
    }
    ASSERT_EQ(start(folder, -1).code, 0);
    expect_same_run(scratch / "whole", folder);
    fs::remove_all(folder);
  }
}

INSTANTIATE_TEST_SUITE_P(Part, KilledRun, ::testing::Range(0, parts()));

TEST(Resume, AnInterruptedRunSavesAndGoesOn) {
  TempFolder scratch;
  std::ofstream(scratch / "tiny.yaml") << kTinyQueue;
  // No checkpoint but the one of the interruption, which may lie between two lines of metrics.jsonl.
  Child whole = run_program(train_arguments(scratch / "tiny.yaml", scratch / "whole", "0"));
  ASSERT_EQ(whole.code, 0);
  Child stopped;
  for (double share : {0.7, 0.6, 0.5, 0.4}) {  // this run may be faster than the whole one was
    fs::remove_all(scratch / "run");
    stopped = run_program(train_arguments(scratch / "tiny.yaml", scratch / "run", "0"), share * whole.seconds, SIGINT);
    if (stopped.code != 0) break;
  }
  ASSERT_EQ(stopped.code, kInterruptedExitCode);
  ASSERT_TRUE(fs::exists(scratch / "run" / "config.yaml"));
  EXPECT_FALSE(fs::exists(scratch / "run" / "summary.json"));
  EXPECT_EQ(run_program({"train", "--resume", (scratch / "run").string()}).code, 0);
  expect_same_run(scratch / "whole", scratch / "run");
}

TEST(Resume, EveryStepIsAGoodPlaceToStop) {
  TempFolder scratch;
  run_tiny(kTinyClassifier, scratch / "whole");
  for (int step = 1; step <= 8; step += 3) {
    fs::path folder = scratch / ("run" + std::to_string(step));
    run_tiny(kTinyClassifier, folder, {"train.max_steps=" + std::to_string(step)});
    Config config = RunFolder::read_config(folder, number_overrides({"train.max_steps=0"}));
    TrainOutcome outcome = train(config, {.resume = folder, .progress = ProgressMode::quiet});
    EXPECT_EQ(outcome.ending, Ending::finished);
    EXPECT_EQ(RunFolder::read_config(folder).get_int("train.max_steps"), step < 8 ? 0 : step);
    Json whole = Json::parse(file_text(scratch / "whole" / "summary.json"));
    EXPECT_EQ(outcome.summary["hash"], whole["hash"]) << "stopped after step " << step;
  }
}

TEST(Resume, TheCheckpointARunStartedFromMayBeGone) {
  TempFolder scratch;
  run_tiny(kTinyClassifier, scratch / "first", {"train.max_steps=2"});
  const std::string init = "model.init=" + (scratch / "first").string();
  Json whole = run_tiny(kTinyClassifier, scratch / "whole", {init}).summary;
  Json fresh = run_tiny(kTinyClassifier, scratch / "fresh").summary;
  EXPECT_NE(whole["hash"], fresh["hash"]);
  run_tiny(kTinyClassifier, scratch / "run", {init, "train.max_steps=3"});
  fs::remove_all(scratch / "first");
  Config config = RunFolder::read_config(scratch / "run", number_overrides({"train.max_steps=0"}));
  TrainOutcome outcome = train(config, {.resume = scratch / "run", .progress = ProgressMode::quiet});
  EXPECT_EQ(outcome.summary["hash"], whole["hash"]);
}

TEST(Resume, AChangeThatDoesNotFitTheCheckpointLeavesPlanAndConfigurationAsTheyWere) {
  TempFolder scratch;
  fs::path folder = scratch / "run";
  run_tiny(kTinyQueue, folder, {"train.max_steps=1", "recompute.method=joint"});
  std::vector<std::string> files = {"config.yaml", kPlanFile, kProfileFile, "metrics.jsonl"}, before;
  for (const std::string& name : files) before.push_back(file_text(folder / name));
  Config config =
      RunFolder::read_config(folder, number_overrides({"train.max_steps=2", "model.encoder.widths=[4,16]"}));
  std::string error = user_error([&] { train(config, {.resume = folder, .progress = ProgressMode::quiet}); });
  EXPECT_PRED2(contains, error, "expected shape");
  for (std::size_t i = 0; i < files.size(); ++i) EXPECT_EQ(file_text(folder / files[i]), before[i]) << files[i];
}

TEST(Resume, ARequestToStopIsHeardBetweenSteps) {
  TempFolder scratch;
  Config config = tiny_config(kTinyQueue, scratch / "run");
  request_stop();
  TrainOutcome outcome = train(config, {.resume = {}, .progress = ProgressMode::quiet});
  clear_stop_request();
  EXPECT_EQ(outcome.ending, Ending::interrupted);
  EXPECT_TRUE(contains(outcome.message, "reprise train --resume")) << outcome.message;
  EXPECT_TRUE(fs::exists(scratch / "run" / "state.json"));
}

TEST(Resume, AFinishedRunIsEvaluatedAgain) {
  TempFolder scratch;
  Json first = run_tiny(kTinyClassifier, scratch / "run").summary;
  Config config = RunFolder::read_config(scratch / "run");
  Json again = train(config, {.resume = scratch / "run", .progress = ProgressMode::quiet}).summary;
  EXPECT_EQ(first["hash"], again["hash"]);
  EXPECT_EQ(first["test"], again["test"]);
  EXPECT_EQ(first["config"], again["config"]);
  EXPECT_EQ(first["plan"], again["plan"]);
  EXPECT_GT(again["plan"]["predicted_peak_bytes"], 0);
  EXPECT_EQ(first["memory"]["peak_bytes"], again["memory"]["peak_bytes"]);
}

}  // namespace
}  // namespace reprise
