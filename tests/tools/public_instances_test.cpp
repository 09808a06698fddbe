// `reprise bench planner --instances` on the published traces and graphs themselves, and on the bounds beside them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/support/errors.h"
#include "tests/support/program.h"
#include "tests/support/surroundings.h"
#include "tests/support/temp_folder.h"
#include "tools/bench/published_bounds.h"

namespace reprise::bench {
namespace {

namespace fs = std::filesystem;
using namespace reprise::testing;  // NOLINT

TEST(PublishedBounds, ALogSaysItsGraphAndItsBudget) {
  const std::pair<const char*, GraphAtBudget> logs[] = {
      {"monet_r50_184_24hr/monet_r50_ic_184_07", {"monet_resnet50_184_inplace_conv_normal", 7}},
      {"monet_unet_11_24hr/monet_unet_i_11_10", {"monet_un_11_inplace_normal", 10}},
      {"monet_vgg16_176_24hr/monet_vgg16_icmn_176_5.5.out", {"monet_vgg16_176_inplace_conv_multiway_newnode", 5.5}},
      {"monet_vgg16_176_24hr/monet_vgg16_in_176_05_5", {"monet_vgg16_176_inplace_newnode", 5.5}},
      {"checkmate_unet_11_24hr/checkmate_unet_11_05", {"checkmate_un_11_normal", 5}},
      {"checkmate_mobilenet_272_24hr/checkmate_mobilenet_normal_10_new", {"checkmate_mobilenet_v2_272_normal", 10}},
      {"checkmate_vgg16_176_24hr/checkmate_vgg16_176_10.0_noconv.out", {"checkmate_vgg16_176_normal", 10}}};
  for (const auto& [log, graph] : logs) EXPECT_EQ(graph_of_log(log), graph) << log;
  for (const char* log : {"", "a", "/", "monet_r50_184_24hr/monet_r50_ic_184", "monet_r50_184_24hr/monet_r50_x_184_07",
                          "monet_r50_184_24hr/monet_alexnet_i_184_07", "monet_r50_184/monet_r50_i_184_07"}) {
    EXPECT_FALSE(graph_of_log(log)) << log;
  }
}

TEST(PublishedBounds, TheHighestCountsAndWhatIsNoBoundIsLeftOutOrNamed) {
  TempFolder folder;
  fs::path file = folder / "gurobi_summary.csv";
  EXPECT_TRUE(published_bounds(file).empty());
  std::ofstream(file) << "log,best_obj,best_bound,status\n"
                         "monet_r50_184_24hr/monet_r50_i_184_07,1.2e+05,1.1e+05,timelimit\n"
                         "monet_r50_184_24hr/monet_r50_i_184_07.out,1.2e+05,1.05e+05,timelimit\n"
                         "monet_r50_184_24hr/monet_r50_i_184_08,,,infeasible\n"
                         "another,1,1,optimal\n";
  std::map<GraphAtBudget, double> expected = {{{"monet_resnet50_184_inplace_normal", 7}, 110000}};
  EXPECT_EQ(published_bounds(file), expected);
  std::ofstream(file) << "log,best_bound\nmonet_r50_184_24hr/monet_r50_i_184_07,many\n";
  std::string text = error_of([&] { published_bounds(file); });
  EXPECT_PRED2(contains, text, "expected a number as best_bound in " + file.string() + ", line 2, got 'many'");
  std::ofstream(file) << "log,bound\n";
  EXPECT_PRED2(contains, error_of([&] { published_bounds(file); }), "expected a column 'best_bound'");
}

/// The smallest files of each kind, so that this takes a second; the whole folder takes minutes.
class PublicInstances : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path real = shared_folder() / "instances";
    for (const char* name :
         {"dtr/resnet32.ops.json.gz", "dtr/unet.ops.json.gz", "monet/checkmate_vgg16_176_normal.json.gz",
          "monet/monet_vgg16_176_inplace_newnode.json.gz", "monet/published_solutions.json",
          "monet/gurobi_summary.csv"}) {
      if (!fs::exists(real / name)) GTEST_SKIP() << "there is no " << (real / name).string();
      fs::create_directories((folder_ / name).parent_path());
      fs::create_symlink(fs::canonical(real / name), folder_ / name);
    }
    Outcome outcome = reprise("bench planner --instances " + shell_word(folder_.path().string()) + " --json " +
                              shell_word((folder_ / "out.json").string()));
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    std::ifstream in(folder_ / "out.json");
    const nlohmann::json document = nlohmann::json::parse(in);
    for (const nlohmann::json& row : document["rows"]) rows_[row["what"]] = row;
  }
  /// The step's time under joint over no recompute in per cent; nothing where no plan fits.
  std::optional<double> ours(const std::string& what) const {
    const nlohmann::json& median = rows_.at(what)["ours"]["median"];
    return median.is_number() ? std::optional<double>(median.get<double>()) : std::nullopt;
  }
  std::string note(const std::string& what) const { return rows_.at(what)["note"].get<std::string>(); }

  TempFolder folder_;
  std::map<std::string, nlohmann::json> rows_;
};

TEST_F(PublicInstances, TracesArePlannedByEveryMethodAtEveryBudget) {
  for (const std::string trace : {"resnet32", "unet"}) {
    std::optional<double> before;
    int budgets = 0;
    for (const auto& [what, row] : rows_) budgets += what.starts_with(trace + " at ");
    EXPECT_EQ(budgets, 8);
    for (int share = 30; share <= 100; share += 10) {
      std::string size = trace == "unet" ? "8.42 GB" : "10.06 GB";
      std::string what = trace + " at " + std::to_string(share) + " % of " + size;
      ASSERT_TRUE(rows_.contains(what)) << what;
      for (const char* method : {"retain ", "whole ", "region ", "retain+whole ", "retain+region ", "joint "})
        EXPECT_PRED2(contains, note(what), std::string(method)) << what;
      std::optional<double> now = ours(what);
      if (before) {
        ASSERT_TRUE(now) << what << ": more memory is never worse";
        EXPECT_LE(*now, *before) << what;
      }
      before = now;
    }
    EXPECT_EQ(before, 0.0) << trace << ": nothing is recomputed at the whole peak";
  }
}

TEST_F(PublicInstances, GraphsStandBesideThePublishedPlansAndBounds) {
  int plans = 0;
  for (const auto& [what, row] : rows_) plans += contains(what, "_vgg16_176_");
  EXPECT_EQ(plans, 3 + 6) << "as many as are published of the two";
  const std::string what = "checkmate_vgg16_176_normal in 10 GiB";
  ASSERT_TRUE(rows_.contains(what));
  // Theirs is optimal in its space: 250,600 and its bound are the same; ours replays whole segments.
  EXPECT_NEAR(rows_[what]["peer"]["median"].get<double>(), 2.029, 0.001);
  EXPECT_PRED2(contains, note(what), "bound 2.029 %");
  EXPECT_GT(ours(what).value(), 2.029);
  EXPECT_LT(ours(what).value(), 5);
  EXPECT_PRED2(contains, note("monet_vgg16_176_inplace_newnode in 5.5 GiB"), "bound ");
  EXPECT_FALSE(contains(note("monet_vgg16_176_inplace_newnode in 5.5 GiB"), "no bound"));
}

}  // namespace
}  // namespace reprise::bench
