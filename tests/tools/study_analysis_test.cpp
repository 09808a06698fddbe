// The analysis of the study of sparse writes, on made-up records whose ratios are known by hand.
#include <gtest/gtest.h>

#include "tests/support/text.h"
#include "tools/study/sparse_write.h"

namespace reprise::study {
namespace {

using reprise::testing::contains;

Config study_file() {
  return parse_config(R"(type: sparse_write
name: a
workloads: {w: w.yaml}
targets: {workload: w}
)",
                      "study.yaml", {}, study_schema());
}

struct Made {
  std::string budget, method;
  std::int64_t block;
  double wall;
  std::string status = "ok", hash = "0123456789abcdef";
};

std::vector<Record> records_of(const std::vector<Made>& all) {
  std::string text;
  std::int64_t order = 0;
  for (const Made& made : all) {
    Json json = {{"schema", kSchema},
                 {"study", "a"},
                 {"kind", "process"},
                 {"id", fmt::format("p{}", order)},
                 {"status", made.status},
                 {"error", made.status == "ok" ? Json() : Json("why")},
                 {"order", order},
                 {"block", made.block},
                 {"started", ""},
                 {"elapsed_s", 1},
                 {"load", Json::object()},
                 {"versions", Json::object()},
                 {"threads", 1},
                 {"workload", "w"},
                 {"budget", made.budget},
                 {"budget_bytes", 1000},
                 {"granularity", "segment"},
                 {"method", made.method}};
    ++order;
    if (made.status == "ok") {
      json["wall_s"] = {made.wall * 3, made.wall, made.wall * 0.9};  // the median is what counts
      json["cpu_s"] = {made.wall * 2};
      json["predicted_s"] = made.method == "joint" ? 0.5 : 1.0;
      json["predicted_peak_bytes"] = 900;
      json["measured_peak_bytes"] = made.method == "joint" ? 900 : 450;
      json["hash"] = {{"gradients", made.hash}, {"parameters", "1"}, {"state", "2"}};
    }
    text += json_line(json) + "\n";
  }
  return parse_records(text, "r.jsonl");
}

TEST(StudyAnalysis, RatiosTargetsAndPeaksByHand) {
  Analysis analysis = analyse_sparse_write(study_file(), records_of({{"both", "retain+whole", 0, 1.0},
                                                                     {"both", "joint", 0, 0.5},
                                                                     {"both", "joint", 1, 1.0},
                                                                     {"both", "retain+whole", 1, 2.0},
                                                                     {"both", "joint", 2, 7.0},
                                                                     {"tight", "region", 0, 1.0},
                                                                     {"tight", "joint", 0, 0.96},
                                                                     {"tight", "retain+whole", 0, 0, "infeasible"},
                                                                     {"tight", "region", 1, 0, "failed"}}));
  EXPECT_EQ(analysis.wrong, "");
  const Json& summary = analysis.summary;
  EXPECT_EQ(summary["records"]["process"]["ok"], 7);
  EXPECT_EQ(summary["records"]["process"]["failed"], 1);
  EXPECT_EQ(summary["failed"], Json({"p8"}));
  ASSERT_EQ(summary["cells"].size(), 2u);
  const Json& both = summary["cells"][0];
  ASSERT_EQ(both["pairs"].size(), 1u);
  EXPECT_EQ(both["pairs"][0]["over"], "joint");
  EXPECT_EQ(both["pairs"][0]["wall"]["n"], 2) << "a block without its partner has no ratio";
  EXPECT_EQ(both["pairs"][0]["unpaired"], 1);
  EXPECT_PRED2(contains, analysis.text, "joint : retain+whole: 1 block with only one of both, not in the ratio\n");
  EXPECT_PRED2(contains, analysis.text, "region: 1 failure\n");
  EXPECT_NEAR(double(both["pairs"][0]["wall"]["geometric_mean"]), 0.5, 1e-12);
  EXPECT_NEAR(double(both["pairs"][0]["cpu"]["geometric_mean"]), 0.5, 1e-12);
  EXPECT_NEAR(double(both["pairs"][0]["predicted"]), 0.5, 1e-12);
  EXPECT_NEAR(double(both["methods"][0]["peak_measured_to_predicted"]), 0.5, 1e-12);
  EXPECT_EQ(double(both["methods"][1]["peak_measured_to_predicted"]), 1);
  ASSERT_EQ(summary["targets"].size(), 2u);
  EXPECT_EQ(summary["targets"][0]["met"], true);
  EXPECT_EQ(summary["targets"][1]["met"], false);
  EXPECT_NEAR(double(summary["targets"][1]["missed_by"]), 0.04, 1e-12);
  EXPECT_PRED2(contains, analysis.text, "joint : region at most 0.92: 0.9600 -: missed by 0.0400");
  EXPECT_PRED2(contains, analysis.text, "infeasible");
}

TEST(StudyAnalysis, BytesThatDifferBetweenMethodsAreWrongWhateverTheRatios) {
  Analysis analysis =
      analyse_sparse_write(study_file(), records_of({{"both", "region", 0, 1.0},
                                                     {"both", "joint", 0, 0.5, "ok", "fedcba9876543210"},
                                                     {"tight", "region", 0, 1.0}}));
  EXPECT_PRED2(contains, analysis.wrong, "the gradients of p1 (line 2) differ from those of p0 (line 1)");
  EXPECT_EQ(analysis.summary["hashes"]["w"]["equal"], false);
  EXPECT_EQ(analysis.summary["hashes"]["w"]["differing"], Json({"p1"}));
}

TEST(StudyAnalysis, AProcessThatLacksAHashHasNotTheSameBytes) {
  std::vector<Record> records = records_of({{"both", "region", 0, 1.0}, {"both", "joint", 0, 0.5}});
  records[1].json["hash"].erase("state");
  EXPECT_PRED2(contains, analyse_sparse_write(study_file(), records).wrong,
               "expected the same hashes in p1 (line 2) and p0 (line 1), one has others");
}

}  // namespace
}  // namespace reprise::study
