// train.epoch_hashes: what a run is after each epoch, as hashes that methods, resumed runs and other runs are compared
// by.
#include <set>

#include "models/run/run_folder.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

std::vector<std::string> hashing(std::vector<std::string> more = {}) {
  std::vector<std::string> all = {"train.epoch_hashes=true", "eval.hash_images=12", "model.losses=2",
                                  "probe.epochs=2",          "probe.batch=50",      "probe.baseline=false"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<Json> hash_lines(const fs::path& folder) {
  std::vector<Json> lines;
  std::ifstream in(folder / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    Json json = Json::parse(line);
    if (json.contains("hash")) lines.push_back(json);
  }
  return lines;
}

TEST(EpochHashes, StandAfterEveryEpochAndAreTheSameUnderEveryMethodThatRestores) {
  TempFolder scratch;
  Json summary = run_tiny(kTinyQueue, scratch / "retain", hashing()).summary;
  std::vector<Json> lines = hash_lines(scratch / "retain");
  ASSERT_EQ(lines.size(), 3u);
  std::set<std::string> all;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["epoch"], i + 1);
    EXPECT_EQ(lines[i]["step"], 4 * (i + 1));
    for (const char* name : {"parameters", "state", "predictions"})
      all.insert(lines[i]["hash"][name].get<std::string>());
  }
  EXPECT_EQ(all.size(), 9u) << "every epoch changes all three";
  EXPECT_EQ(lines[2]["hash"]["parameters"], summary["hash"]["parameters"]);
  EXPECT_EQ(lines[2]["hash"]["state"], summary["hash"]["state"]);
  EXPECT_NE(lines[2]["hash"]["predictions"], summary["hash"]["predictions"]) << "at the end they are the probe's";
  for (const char* method : {"whole", "region"}) {
    Json other = run_tiny(kTinyQueue, scratch / method, hashing({std::string("recompute.method=") + method})).summary;
    EXPECT_EQ(hash_lines(scratch / method), lines) << method;
    EXPECT_EQ(other["hash"], summary["hash"]) << method;
  }
  run_tiny(kTinyQueue, scratch / "unchecked", hashing({"recompute.method=unchecked"}));
  EXPECT_NE(hash_lines(scratch / "unchecked")[0]["hash"]["parameters"], lines[0]["hash"]["parameters"]);
}

TEST(EpochHashes, OnlyLookAtTheRun) {
  TempFolder scratch;
  Json with = run_tiny(kTinyQueue, scratch / "with", hashing()).summary;
  Json without = run_tiny(kTinyQueue, scratch / "without", hashing({"train.epoch_hashes=false"})).summary;
  EXPECT_TRUE(hash_lines(scratch / "without").empty());
  EXPECT_EQ(with["hash"], without["hash"]);
  EXPECT_EQ(with["memory"]["peak_bytes"], without["memory"]["peak_bytes"]) << "an evaluation is no step";
}

TEST(EpochHashes, PredictionsCoverTheImagesThatAreAskedFor) {
  TempFolder scratch;
  run_tiny(kTinyQueue, scratch / "a", hashing());
  run_tiny(kTinyQueue, scratch / "b", hashing({"eval.hash_images=13"}));
  run_tiny(kTinyQueue, scratch / "c", hashing({"eval.batch=5"}));
  Json a = hash_lines(scratch / "a")[0]["hash"], b = hash_lines(scratch / "b")[0]["hash"];
  EXPECT_EQ(a["state"], b["state"]);
  EXPECT_NE(a["predictions"], b["predictions"]);
  run_tiny(kTinyQueue, scratch / "none", hashing({"eval.hash_images=0"}));
  EXPECT_TRUE(hash_lines(scratch / "none")[0]["hash"]["predictions"].is_null());
}

TEST(EpochHashes, AClassifierPredictsScores) {
  TempFolder scratch;
  Json summary = run_tiny(kTinyClassifier, scratch / "a", {"train.epoch_hashes=true", "eval.hash_images=100"}).summary;
  std::vector<Json> lines = hash_lines(scratch / "a");
  ASSERT_EQ(lines.size(), 2u);
  // All 100 test images are covered, so the last line's predictions are those of the evaluation.
  EXPECT_EQ(lines[1]["hash"], summary["hash"]);
}

TEST(EpochHashes, ThoseThatAStopLeftOutAreTakenWhenTheRunGoesOn) {
  TempFolder scratch;
  run_tiny(kTinyQueue, scratch / "whole", hashing());
  run_tiny(kTinyQueue, scratch / "run", hashing({"train.max_steps=4"}));
  // As a stop in the middle of the predictions leaves it: the step is saved, its line is not there.
  fs::path state = scratch / "run" / "state.json", metrics = scratch / "run" / "metrics.jsonl";
  Json saved = Json::parse(file_text(state));
  ASSERT_EQ(saved["hashed_epoch"], 1);
  saved["hashed_epoch"] = 0;
  std::string lines = file_text(metrics);
  lines.resize(lines.rfind("{\"step\": 4, \"epoch\": 1, \"hash\""));
  fs::remove(state);
  std::ofstream(state) << json_pretty(saved);
  std::ofstream(metrics) << lines;
  Config config = RunFolder::read_config(scratch / "run", number_overrides({"train.max_steps=0"}));
  train(config, {.resume = scratch / "run", .progress = ProgressMode::quiet});
  EXPECT_EQ(deterministic_lines(scratch / "run"), deterministic_lines(scratch / "whole"));
}

}  // namespace
}  // namespace reprise
