// Runs of a few seconds for tests: a tiny configuration, and the lines that a run leaves.
// Called by tests of models; the images are synthetic.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "models/run/json_text.h"
#include "models/train/trainer.h"
#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"
#include "tests/support/text.h"

namespace reprise::testing {

namespace fs = std::filesystem;

inline const char* const kTinyQueue = R"(seed: 3
threads: 1
model:
  type: dense_queue
  encoder: {widths: [4, 8], blocks: 1}
  projection: {hidden: 8, out: 4}
  queue: {size: 48}
data: {limit: 64, prefetch: 1, synthetic: {train: 200, test: 100}}
train: {epochs: 3, batch: 16, lr: 0.05, warmup_steps: 2, checkpoint_every: 5, log_every: 2}
probe: {epochs: 0}
recompute: {segments: blocks}
)";

inline const char* const kTinyClassifier = R"(seed: 3
threads: 1
model:
  type: classifier
  encoder: {widths: [4, 8], blocks: 1}
  dropout: 0.2
data: {limit: 64, prefetch: 1, synthetic: {train: 200, test: 100}}
train: {epochs: 2, batch: 16, lr: 0.05, warmup_steps: 2, checkpoint_every: 3, log_every: 3}
recompute: {segments: blocks}
)";

inline Config tiny_config(const char* text, const fs::path& folder, std::vector<std::string> overrides = {}) {
  overrides.push_back("run.dir=" + folder.string());
  return parse_config(text, "tiny.yaml", overrides);
}

/// Trains in this process; expects the run to finish.
inline TrainOutcome run_tiny(const char* text, const fs::path& folder, std::vector<std::string> overrides = {}) {
  Config config = tiny_config(text, folder, std::move(overrides));
  TrainOutcome outcome = train(config, {.resume = {}, .progress = ProgressMode::quiet});
  EXPECT_EQ(outcome.ending, Ending::finished) << outcome.message;
  return outcome;
}

/// The lines of metrics.jsonl with the fields that must not depend on time or memory.
inline std::vector<std::string> deterministic_lines(const fs::path& folder) {
  std::ifstream in(folder / "metrics.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    Json all = Json::parse(line), kept;
    for (const char* key : {"step", "epoch", "loss", "accuracy", "knn", "lr", "hash"}) {
      if (all.contains(key)) kept[key] = all[key];
    }
    lines.push_back(json_line(kept));
  }
  return lines;
}

}  // namespace reprise::testing
