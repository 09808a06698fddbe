// `reprise explain` and `reprise contract` as a person and a script meet them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

const std::string kDemo =
    std::string("'") + REPRISE_SOURCE_DIR + "/configs/cifar100_dense_queue.yaml' recompute.method=region ";

class Verbs : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return "'" + (folder_ / name).string() + "'"; }
  TempFolder folder_;
};

TEST(ExplainVerb, ShowsTheDemoForBothLayoutsOfTheQueue) {
  Outcome ring = reprise("explain " + kDemo);
  EXPECT_EQ(ring.code, 0);
  for (const char* part :
       {"dense_queue, batch 128, method region", "layer3.1", "queue    block", "enqueue_ring at (outside)/2#0",
        "value (outside)#34", "Predicted peak of a step: ", "cotangents"}) {
    EXPECT_PRED2(contains, ring.text, std::string(part));
  }
  EXPECT_FALSE(contains(ring.text, "backbone.stem.weight"));
  EXPECT_PRED2(contains, reprise("explain " + kDemo + "--reads").text, "backbone.stem.weight");
  Outcome shift = reprise("explain " + kDemo + "model.queue.layout=shift model.losses=2 train.accumulate=2");
  EXPECT_PRED2(contains, shift.text, "enqueue_shift at (outside)/3#0");
  EXPECT_PRED2(contains, shift.text, "micro-batch 2: ");
}

TEST(ExplainVerb, JsonIsReadByAScript) {
  Outcome outcome = reprise("explain " + kDemo + "--json");
  ASSERT_EQ(outcome.code, 0);
  auto json = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(json["micro_batches"][0]["segments"].size(), 10u);
  EXPECT_EQ(json["micro_batches"][0]["totals"]["preserved_bytes"], 128 * 64 * 4);
  EXPECT_GT(json["peak"]["by_category"]["activations"], 0);
}

TEST(ExplainVerb, TheControlIsMarkedAsSuchAndMistakesExitTwo) {
  EXPECT_PRED2(contains, reprise("explain " + kDemo + "recompute.method=unchecked").text, "not to be trusted");
  EXPECT_EQ(reprise("explain " + kDemo + "recompute.segments=[nowhere]").code, 2);
  EXPECT_PRED2(contains, reprise("explain " + kDemo + "memory.budget=1MiB").text,
               "Does not fit the budget of 1048576 bytes");
  EXPECT_PRED2(contains, reprise("explain " + kDemo + "memory.budget=1GiB").text,
               "Fits the budget of 1073741824 bytes");
}

TEST_F(Verbs, ContractsAreTheSameBytesAndDifferencesAreSaid) {
  ASSERT_EQ(reprise("contract " + kDemo + "-o " + file("a.json")).code, 0);
  ASSERT_EQ(reprise("contract " + kDemo + "-o " + file("b.json")).code, 0);
  Outcome same = reprise("contract --diff " + file("a.json") + " " + file("b.json"));
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.text, "no difference\n");
  EXPECT_EQ(reprise("contract " + kDemo).text, file_text(folder_ / "a.json"));

  reprise("contract " + kDemo + "train.batch=64 -o " + file("batch.json"));
  Outcome batch = reprise("contract --diff " + file("a.json") + " " + file("batch.json"));
  EXPECT_EQ(batch.code, 1);
  EXPECT_PRED2(contains, batch.text, "config train.batch: 128 -> 64");
  EXPECT_PRED2(contains, batch.text, "write of queue by #0 enqueue_ring: region [0, 32768) -> [0, 16384)");

  reprise("contract " + kDemo + "model.queue.layout=shift 'recompute.options={head: retain}' -o " + file("shift.json"));
  Outcome shift = reprise("contract --diff " + file("a.json") + " " + file("shift.json"));
  EXPECT_PRED2(contains, shift.text, "node removed: #0 enqueue_ring");
  EXPECT_PRED2(contains, shift.text, "node added: #0 enqueue_shift");
  EXPECT_PRED2(contains, shift.text, "option: replay, state region -> retain, state whole");
}

TEST_F(Verbs, ContractsAndChecksOfTheControlWarnBesideTheirOutput) {
  Outcome contract = reprise("contract " + kDemo + "recompute.method=unchecked -o " + file("c.json"));
  EXPECT_EQ(contract.code, 0);
  EXPECT_PRED2(contains, contract.text, "not to be trusted");
  const std::string check = "check " + kDemo +
                            "model.encoder.preset=small 'model.encoder.widths=[4]' model.encoder.blocks=1 "
                            "train.batch=8 model.queue.size=24 data.limit=0 data.synthetic.train=100 "
                            "data.synthetic.test=100 --steps 1 --no-guard --no-differences --methods ";
  EXPECT_PRED2(contains, reprise(check + "whole,unchecked").text, "not to be trusted");
  EXPECT_FALSE(contains(reprise(check + "whole,unchecked", "2>/dev/null").text, "not to be trusted"));
  EXPECT_FALSE(contains(reprise(check + "whole").text, "not to be trusted"));
}

TEST_F(Verbs, MistakesWithDocumentsExitTwoAndSayWhatTheyAre) {
  std::ofstream(folder_ / "no.json") << "{}";
  Outcome outcome = reprise("contract --diff " + file("no.json") + " " + file("no.json"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_PRED2(contains, outcome.text, "expected a document of format reprise-contract/1");
  EXPECT_EQ(reprise("contract --diff /nonexistent.json /nonexistent.json").code, 2);
  EXPECT_EQ(reprise("contract --diff " + file("no.json")).code, 2);
  EXPECT_EQ(reprise("contract " + kDemo + "-o /nonexistent/x.json").code, 2);
}

}  // namespace
}  // namespace reprise
