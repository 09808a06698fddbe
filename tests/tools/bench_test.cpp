// `reprise bench`: every bench runs, writes its figures, and says clearly what a peer lacks; the statistics behind it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"
#include "tools/bench/report.h"

namespace reprise::bench {
namespace {

using testing::Outcome;
using testing::TempFolder;

Outcome reprise_bench(const std::string& arguments) { return testing::reprise("bench " + arguments); }

std::string in(const TempFolder& folder, const std::string& name) { return (folder / name).string(); }

class EveryBench : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryBench, RunsAndWritesFiguresAboveZero) {
  TempFolder folder;
  Outcome outcome = reprise_bench(std::string(GetParam()) + " --quick --json '" + in(folder, "out.json") + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("2 rounds"), std::string::npos) << outcome.text;
  std::ifstream file(in(folder, "out.json"));
  Json report = Json::parse(file);
  ASSERT_FALSE(report["rows"].empty());
  for (const Json& row : report["rows"]) {
    const Json& ours = row["ours"];
    ASSERT_TRUE(ours["median"].is_number()) << row.dump();
    EXPECT_LE(ours["min"].get<double>(), ours["median"].get<double>()) << row.dump();
    EXPECT_LE(ours["median"].get<double>(), ours["max"].get<double>()) << row.dump();
    EXPECT_NE(outcome.text.find(row["what"].get<std::string>()), std::string::npos) << row.dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Bench, EveryBench,
                         ::testing::Values("ops", "step", "replay", "optim", "loader", "startup", "planner"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Bench, ReplayingBlocksShowsInTheLivePeak) {
  TempFolder folder;
  Outcome outcome = reprise_bench("step --quick --batch 16 --json '" + in(folder, "out.json") + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::ifstream file(in(folder, "out.json"));
  bool seen = false;
  Json report = Json::parse(file);
  for (const Json& row : report["rows"]) {
    if (row["what"] != "replayed / without, live peak") continue;
    seen = true;
    EXPECT_LT(row["ours"]["median"].get<double>(), 0.95);
    EXPECT_EQ(row["target"], "0.60");
  }
  EXPECT_TRUE(seen);
}

TEST(Bench, AMistakeExitsTwoAndNamesWhatIsMissing) {
  EXPECT_EQ(reprise_bench("").code, 2);
  Outcome unknown = reprise_bench("speed");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.text.find("expected ops, step, replay, optim, loader, startup or planner"), std::string::npos)
      << unknown.text;
  Outcome scripts = reprise_bench("ops --quick --peer python3 --peers /nonexistent");
  EXPECT_EQ(scripts.code, 2);
  EXPECT_NE(scripts.text.find("/nonexistent/ops.py"), std::string::npos) << scripts.text;
  TempFolder folder;
  std::ofstream(in(folder, "loader.py")) << "print('{}')\n";
  Outcome python = reprise_bench("loader --quick --peer /nonexistent/python --peers '" + folder.path().string() + "'");
  EXPECT_EQ(python.code, 2);
  EXPECT_NE(python.text.find("/nonexistent/python"), std::string::npos) << python.text;
  std::ofstream(in(folder, "broken")) << "#!/bin/sh\necho no torch here >&2\nexit 1\n";
  std::filesystem::permissions(in(folder, "broken"), std::filesystem::perms::owner_all);
  Outcome torch =
      reprise_bench("loader --quick --peer '" + in(folder, "broken") + "' --peers '" + folder.path().string() + "'");
  EXPECT_EQ(torch.code, 2);
  EXPECT_NE(torch.text.find("no torch here"), std::string::npos) << torch.text;
}

TEST(Bench, ThePeerTakesATurnInEveryRound) {
  TempFolder folder;
  std::ofstream(in(folder, "loader.py"));  // the stand-in for a Python below says what the script would
  std::ofstream(in(folder, "peer"))
      << "#!/bin/sh\necho turn >> '" + in(folder, "turns") +
             "'\necho '{\"results\": {\"batch_resizedcrop_jitter_gray_norm\": 1000, \"batch_pad_flip_norm\": 500}}'\n";
  std::filesystem::permissions(in(folder, "peer"), std::filesystem::perms::owner_all);
  Outcome outcome = reprise_bench("loader --quick --rounds 3 --peer '" + in(folder, "peer") + "' --peers '" +
                                  folder.path().string() + "' --json '" + in(folder, "out.json") + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::ifstream turns(in(folder, "turns"));
  std::string line;
  int count = 0;
  while (std::getline(turns, line)) ++count;
  EXPECT_EQ(count, 4);  // one asks whether torch is there
  std::ifstream file(in(folder, "out.json"));
  Json row = Json::parse(file)["rows"][0];
  EXPECT_EQ(row["peer"]["samples"], Json({1000.0, 1000.0, 1000.0}));
  EXPECT_DOUBLE_EQ(row["ours_over_peer"].get<double>(), row["ours"]["median"].get<double>() / 1000.0);
}

Samples samples(std::initializer_list<double> values) {
  Samples result;
  for (double value : values) result.add(value);
  return result;
}

TEST(Bench, MediansAndLimitsAreOrderStatistics) {
  EXPECT_EQ(samples({3, 1, 2}).median(), 2);
  EXPECT_EQ(samples({4, 1, 2, 3}).median(), 2.5);
  EXPECT_TRUE(std::isnan(samples({}).median()));
  EXPECT_TRUE(std::isnan(samples({1, 2, 3, 4}).upper_limit()));
  EXPECT_EQ(samples({1, 2, 3, 4, 5}).upper_limit(), 5);  // all five below the median: 1 in 32
  Samples thirty;
  for (int i = 1; i <= 30; ++i) thirty.add(i);
  EXPECT_EQ(thirty.upper_limit(), 20);  // 20 or more heads of 30 coins: 4.9 %
  EXPECT_EQ(ratios(samples({2, 9}), samples({1, 3})).values(), (std::vector<double>{2, 3}));
}

TEST(Bench, TheTableLeavesOutColumnsThatNobodyFills) {
  Report report("title", {"machine"});
  report.add({.what = "a", .unit = "ms", .ours = samples({1, 2, 3}), .target = "2"});
  EXPECT_EQ(report.table(),
            "title\n  machine\n\nwhat      ours      min .. max  target; note\na     2.000 ms  1.000 .. 3.000  2\n");
  report.add({.what = "b",
              .unit = "img/s",
              .ours = samples({50}),
              .bound = 100,
              .bound_by = "copy",
              .peer = samples({25}),
              .more_is_better = true});
  std::string table = report.table();
  EXPECT_NE(table.find("100.0 (copy)   50 %"), std::string::npos) << table;
  EXPECT_NE(table.find("2.000\n"), std::string::npos) << table;
}

}  // namespace
}  // namespace reprise::bench
