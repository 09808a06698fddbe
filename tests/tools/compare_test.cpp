// `reprise compare`: configurations and figures of runs side by side, and what it makes of files that are no run's.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tests/tools/tiny_runs.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

class Compare : public TinyRuns {};

TEST_F(Compare, ShowsWhatDiffersAndWhatCameOfIt) {
  ASSERT_EQ(train("a").code, 0);
  ASSERT_EQ(train("b", "recompute.method=region").code, 0);
  ASSERT_EQ(train("c", "train.lr=0.05 train.max_steps=6").code, 0);
  Outcome two = reprise("compare " + path("a") + " " + path("b") + "/");
  EXPECT_EQ(two.code, 0) << two.text;
  EXPECT_PRED2(contains, two.text, "recompute.method  retain  region");
  EXPECT_PRED2(contains, two.text, "the same parameters, bit for bit: a, b");
  EXPECT_FALSE(contains(two.text, "train.lr")) << "keys that are equal are not shown";
  fs::remove(folder_ / "c" / "summary.json");
  Outcome three = reprise("compare --rows 2 " + path("a") + " " + path("b") + " " + path("c"));
  EXPECT_EQ(three.code, 0) << three.text;
  for (const char* part : {"train.lr ", "  step 2 ", "  step 6 ", "peak memory"})
    EXPECT_PRED2(contains, three.text, std::string(part));
  EXPECT_FALSE(contains(three.text, "step 8")) << "only steps that all runs have";
  auto json = nlohmann::json::parse(reprise("compare --json " + path("a") + " " + path("b")).text);
  EXPECT_EQ(json["differing_keys"], nlohmann::json({"recompute.method"}));
  EXPECT_EQ(json["runs"][0]["metrics"].size(), 4u);
  EXPECT_EQ(reprise("compare " + path("a")).code, 2);
  EXPECT_EQ(reprise("compare " + path("a") + " " + path("nothing")).code, 2);
  EXPECT_EQ(reprise("compare " + path("a") + " " + path("tiny.yaml")).code, 2);
  std::ofstream(folder_ / "c" / "metrics.jsonl") << "{\"step\": 2}\nnonsense\n{\"step\": 4}\n";
  Outcome broken = reprise("compare " + path("a") + " " + path("c"));
  EXPECT_EQ(broken.code, 1);
  EXPECT_PRED2(contains, broken.text, "metrics.jsonl:2: expected a JSON object");
}

TEST_F(Compare, FilesThatAnybodyMayHaveWrittenAreRefusedWithTheirPlaceOrShownAsTheyAre) {
  ASSERT_EQ(train("a", "train.max_steps=2").code, 0);
  fs::copy(folder_ / "a", folder_ / "b");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"{\"steps\" = 1}", "summary.json:1:10: expected a JSON object"},
           {"[1]", "summary.json"},
           {"{\"steps\": " + deep + "}", "summary.json:1:74: nested deeper"}}) {
    write_text(folder_ / "b" / "summary.json", text);
    expect_refused(reprise("compare " + path("a") + " " + path("b")), says);
  }
  write_text(folder_ / "b" / "summary.json", R"({"train": [], "hash": [1], "memory": {"peak_bytes": 1e300}})");
  EXPECT_EQ(reprise("compare " + path("a") + " " + path("b")).code, 0);
  write_text(folder_ / "b" / "metrics.jsonl", "{\"step\": 2, \"x\": " + deep + "}\n");
  EXPECT_PRED2(contains, reprise("compare " + path("a") + " " + path("b")).text, "metrics.jsonl:1: expected a JSON");
}

TEST_F(Compare, WhatIsMeasuredOnTheWayIsShownAndCompared) {
  const std::string measured = " eval.knn_every=3 eval.knn_neighbours=5 train.keep_best=knn";
  Outcome shown = reprise("train " + path("tiny.yaml") + " run.dir=" + path("a") + measured);
  ASSERT_EQ(shown.code, 0) << shown.text;
  EXPECT_PRED2(contains, shown.text, "after step 3: knn ");
  EXPECT_PRED2(contains, shown.text, ", the best yet\n");
  EXPECT_PRED2(contains, shown.text, "best knn               ");
  ASSERT_EQ(train("b", measured + " model.encoder.norm=group model.encoder.groups=2").code, 0);
  ASSERT_EQ(train("c").code, 0);
  // Steps that are measured need not be those of a line of the loss, nor need every run measure.
  for (const std::string& third : std::vector<std::string>{"", " " + path("c")}) {
    Outcome compared = reprise("compare " + path("a") + " " + path("b") + third);
    ASSERT_EQ(compared.code, 0) << compared.text;
    EXPECT_PRED2(contains, compared.text, "model.encoder.norm    batch");
    std::size_t knn = compared.text.find("\nknn ");
    ASSERT_NE(knn, std::string::npos) << compared.text;
    std::string table = compared.text.substr(knn);
    for (const char* part : {"  step 3 ", "  step 6 ", "  step 8 "}) EXPECT_PRED2(contains, table, std::string(part));
    EXPECT_FALSE(contains(table, "  step 2 ")) << table;
  }
}

}  // namespace
}  // namespace reprise
