// A folder with a configuration of a run of a second, and short ways to train it and to run scripts on what it leaves.
// Called by tests that meet the program as a person does.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/program.h"
#include "tests/support/surroundings.h"
#include "tests/support/temp_folder.h"

namespace reprise::testing {

class TinyRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "tiny.yaml") << R"(threads: 1
model: {type: dense_queue, encoder: {widths: [4, 8], blocks: 1}, projection: {hidden: 8, out: 4}, queue: {size: 32}}
data: {limit: 64, prefetch: 1, synthetic: {train: 100, test: 100}}
train: {epochs: 2, batch: 16, warmup_steps: 2, log_every: 2}
probe: {epochs: 0}
recompute: {segments: blocks}
)";
  }
  std::string path(const std::string& name) const { return shell_word((folder_ / name).string()); }
  Outcome train(const std::string& run, const std::string& overrides = "") const {
    return reprise("train " + path("tiny.yaml") + " --quiet run.dir=" + path(run) + " " + overrides);
  }
  /// Runs a script with the folder as its argument.
  Outcome script(const std::string& text, const std::string& arguments = "") const {
    std::ofstream(folder_ / "check.py") << text;
    return run_shell("PYTHONDONTWRITEBYTECODE=1 " + python() + " " + path("check.py") + " " +
                     shell_word(folder_.path().string()) + " " + arguments + " 2>&1");
  }

  TempFolder folder_;
};

}  // namespace reprise::testing
