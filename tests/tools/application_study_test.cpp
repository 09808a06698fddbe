// The application study in miniature: killed and gone on with, it ends with the records of one that never was; and
// where two trainings part, the analysis says so.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"
#include "tools/study/application.h"
#include "tools/study/application_compare.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using namespace reprise::testing;  // NOLINT

const std::string kSmall = REPRISE_SOURCE_DIR "/configs/studies/cifar100_dense_queue_small.yaml";

std::vector<Json> records_in(const fs::path& folder) {
  std::vector<Json> records;
  std::ifstream in(folder / "records.jsonl");
  for (std::string line; std::getline(in, line);) records.push_back(Json::parse(line, nullptr, false));
  return records;
}

/// What of each run must not depend on when it ran.
std::map<std::string, std::string> results(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const Json& record : records_in(folder)) {
    EXPECT_EQ(record["status"], "ok") << record.dump();
    if (record["kind"] == "run")
      all[record["id"]] =
          (Json{record["epochs"], record["hash"], record["probe"], record["measured_peak_bytes"]}).dump();
    if (record["kind"] == "timing") all[record["id"]] = record["hash"].dump();
  }
  return all;
}

class ApplicationStudy : public ::testing::Test {
 protected:
  Outcome study(const std::string& name, const std::string& rest = "") const {
    return reprise("study " + shell_word(kSmall) + " -o " + (folder_ / name).string() + " " + rest);
  }

  /// Begins the study and kills it as soon as `ready` says so. Returns the exit code.
  template <class Ready>
  int begin_and_kill(const std::string& name, Ready&& ready) const {
    return signal_program({"study", kSmall, "-o", (folder_ / name).string()}, SIGKILL, ready);
  }

  TempFolder folder_;
};

TEST_F(ApplicationStudy, KilledInARunItGoesOnAndEndsWithTheSameBytes) {
  Outcome whole = study("whole");
  ASSERT_EQ(whole.code, 0) << whole.text;
  EXPECT_PRED2(contains, whole.text, "the same bytes after every epoch in 2 of 2 seeds");
  EXPECT_PRED2(contains, whole.text, "unchecked differs, as it must");
  std::map<std::string, std::string> expected = results(folder_ / "whole");
  EXPECT_EQ(expected.size(), 9u);
  EXPECT_NE(expected.at("run/shift/whole/1"), expected.at("run/shift/whole/2"));
  Json summary = Json::parse(std::ifstream(folder_ / "whole" / "summary.json"));
  EXPECT_EQ(summary["seeds"].size(), 2u);
  EXPECT_EQ(summary["joint"][0]["fits"], true);
  EXPECT_EQ(summary["timing"].size(), 2u);
  EXPECT_EQ(summary["timing_hashes"]["differing"], 0);
  for (const Json& peak : summary["peaks"])
    EXPECT_EQ(peak["measured_peak_bytes"], peak["predicted_peak_bytes"]) << peak;

  // In the second pair of runs, with a checkpoint there to go on from.
  fs::path running = folder_ / "killed" / "runs" / "run-shift-joint-2";
  EXPECT_EQ(begin_and_kill("killed", [&] { return fs::exists(running / "state.json"); }), 128 + SIGKILL);
  EXPECT_LT(records_in(folder_ / "killed").size(), 10u);
  Outcome rest = study("killed");
  ASSERT_EQ(rest.code, 0) << rest.text;
  EXPECT_EQ(results(folder_ / "killed"), expected);
  for (const auto& entry : fs::directory_iterator(running)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("checkpoint")) << "what a record needs is small";
  }
}

TEST_F(ApplicationStudy, ItsTwoPartsAreDoneOneByOne) {
  Outcome runs = study("a", "--kind run 'seeds.shift=1' unchecked.workload=");
  ASSERT_EQ(runs.code, 0) << runs.text;
  EXPECT_EQ(records_in(folder_ / "a").size(), 3u);
  Outcome timing = study("a", "--kind timing 'seeds.shift=1' unchecked.workload=");
  ASSERT_EQ(timing.code, 0) << timing.text;
  EXPECT_EQ(records_in(folder_ / "a").size(), 5u);
  Outcome wrong = study("b", "--kind process");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_PRED2(contains, wrong.text, "expected one of run, timing, got 'process'");
}

TEST_F(ApplicationStudy, TheStudyOfPaperSizeIsValidAndListsItsTasks) {
  Outcome full = reprise("study " REPRISE_SOURCE_DIR "/configs/studies/cifar100_dense_queue_full.yaml --dry-run");
  EXPECT_EQ(full.code, 0) << full.text;
  EXPECT_PRED2(contains, full.text, "run/shift/joint/6\n");
  EXPECT_PRED2(contains, full.text, "176 tasks");
}

TEST_F(ApplicationStudy, MistakesInTheFileAreNamed) {
  struct Case {
    const char *overrides, *expected;
  };
  for (const Case& c :
       {Case{"'seeds.shift=1 x'", "expected whole numbers with blanks between them, got 'x'"},
        Case{"'seeds.shift=1 1'", "expected every seed once"},
        Case{"'~seeds'", "expected at least one seed of the workload shift"},
        Case{"'methods=[whole,best]'", "expected methods among"},
        Case{"timing.workload=ring", "expected one of the workloads shift, got 'ring'"},
        Case{"'overrides.shift=train.epoch_hashes=false'", "expected a workload with train.epoch_hashes=true"},
        Case{"'overrides.shift=train.epochs=3'", "its configuration has the fingerprint"},
        Case{"data.path=/nowhere", "/nowhere"}}) {
    fs::remove_all(folder_ / "a");
    Outcome outcome = study("a", c.overrides);
    EXPECT_EQ(outcome.code, 2) << c.overrides << ": " << outcome.text;
    EXPECT_PRED2(contains, outcome.text, std::string(c.expected));
  }
}

// --- two records, by hand
// ---------------------------------------------------------------------------------------------

Json run_record(const std::string& method, std::int64_t seed) {
  Json hash = {{"parameters", "00000000000000aa"}, {"state", "00000000000000bb"}, {"predictions", "00000000000000cc"}};
  Json record = {{"kind", "run"},
                 {"id", "run/shift/" + method + "/" + std::to_string(seed)},
                 {"status", "ok"},
                 {"layout", "shift"},
                 {"method", method},
                 {"seed", seed},
                 {"budget_bytes", nullptr},
                 {"at_smallest_feasible", false},
                 {"hash", hash},
                 {"probe", {{"top1", 5.0}, {"top5", 20.0}}},
                 {"measured_peak_bytes", 1000},
                 {"activation_peak_bytes", 500},
                 {"plan", {{"method", method}, {"predicted_s", 0.5}, {"predicted_peak_bytes", 1000}}}};
  record["epochs"] = Json::array();
  for (int epoch = 1; epoch <= 3; ++epoch)
    record["epochs"].push_back({{"epoch", epoch}, {"loss", 2.5}, {"hash", hash}});
  return record;
}

TEST(FirstDifference, NamesTheFlippedThing) {
  Json a = run_record("retain", 1);
  EXPECT_FALSE(study::first_difference(a, a));
  for (const char* name : {"parameters", "state", "predictions"}) {
    Json b = a;
    b["epochs"][1]["hash"][name] = "00000000000000ab";
    EXPECT_EQ(study::first_difference(a, b)->text(), std::string(name) + " after epoch 2");
  }
  Json b = a;
  b["hash"]["predictions"] = "00000000000000cd";
  EXPECT_EQ(study::first_difference(a, b)->text(), "test predictions at the end");
  b = a;
  b["epochs"].erase(2);
  EXPECT_EQ(study::first_difference(a, b)->text(), "number of epochs after epoch 3");
  b = a;
  b["epochs"][0]["loss"] = 2.5000000000000004;
  EXPECT_EQ(study::first_difference(a, b)->text(), "loss after epoch 1");
  b = a;
  b["probe"]["top1"] = 5.01;
  EXPECT_EQ(study::first_difference(a, b)->text(), "probe at the end");
}

study::Analysis analysed(const std::vector<Json>& runs) {
  std::vector<study::Record> records;
  for (const Json& json : runs)
    records.push_back({std::int64_t(records.size()) + 2, json["id"], json["kind"], json["status"], json});
  return study::analyse_application(study::load_study(kSmall), records);
}

TEST(ApplicationAnalysis, SaysWhatContradictsTheClaim) {
  Json whole = run_record("whole", 1), joint = run_record("joint", 1), unchecked = run_record("unchecked", 1);
  joint["budget_bytes"] = 1000;
  unchecked["epochs"][0]["hash"]["state"] = "0000000000000001";
  study::Analysis good = analysed({whole, joint, unchecked});
  EXPECT_EQ(good.wrong, "");
  EXPECT_EQ(good.summary["unchecked"]["what"], "state");
  EXPECT_EQ(good.summary["seeds"][0]["equal"], true);
  EXPECT_EQ(good.summary["joint"][0]["predicted"], 1.0);

  Json flipped = joint;
  flipped["epochs"][2]["hash"]["predictions"] = "00000000000000cd";
  study::Analysis bad = analysed({whole, flipped, unchecked});
  EXPECT_PRED2(contains, bad.wrong,
               "run/shift/joint/1 (line 3) and run/shift/whole/1 (line 2): predictions after epoch 3");
  EXPECT_EQ(bad.summary["seeds"][0]["differences"][0]["epoch"], 3);

  EXPECT_PRED2(contains, analysed({whole, joint, run_record("unchecked", 1)}).wrong, "expected unchecked to differ");
  Json without_probe = unchecked;
  without_probe["probe"] = nullptr;
  EXPECT_EQ(analysed({whole, joint, without_probe}).summary["unchecked"]["top1"], nullptr);
  joint["measured_peak_bytes"] = 1001;
  EXPECT_PRED2(contains, analysed({whole, joint}).wrong, "expected joint to fit its budget of 1000 bytes");
  joint["measured_peak_bytes"] = 1000;
  joint["plan"]["predicted_s"] = 0.51;
  EXPECT_PRED2(contains, analysed({whole, joint}).wrong, "no slower than whole");
}

TEST(ApplicationAnalysis, ARunThatIsMissingIsToldOf) {
  study::Analysis analysis = analysed({run_record("whole", 1)});
  EXPECT_PRED2(contains, analysis.text, "shift, seed 1: no run of joint to compare\n");
  EXPECT_PRED2(contains, analysis.text, "shift, seed 2: no run to compare\n");
  EXPECT_EQ(analysis.summary["seeds"][0]["missing"], Json({"joint"}));
  analysis = analysed({run_record("whole", 1), run_record("joint", 1), run_record("whole", 2), run_record("joint", 2)});
  EXPECT_FALSE(contains(analysis.text, "to compare"));
}

TEST(ApplicationAnalysis, RatiosArePairedWithinBlocksAndSummarisedOverSeeds) {
  std::vector<Json> records = {run_record("whole", 1)};
  auto timing = [&](const std::string& method, std::int64_t seed, std::int64_t block, double seconds) {
    records.push_back({{"kind", "timing"},
                       {"id", fmt::format("timing/shift/{}/{}/{}", method, seed, block)},
                       {"status", "ok"},
                       {"layout", "shift"},
                       {"method", method},
                       {"seed", seed},
                       {"block", block},
                       {"wall_s", {9.0, seconds, 0.001}},
                       {"cpu_s", {seconds}},
                       {"predicted_s", 0.5},
                       {"hash", {{"state", "00"}}}});
  };
  // Seed 1: ratios 2 and 8 in its two blocks, 4 on geometric average; seed 2: 1.
  timing("whole", 1, 0, 1.0), timing("joint", 1, 0, 2.0), timing("whole", 1, 3, 0.5), timing("joint", 1, 3, 4.0);
  timing("whole", 2, 1, 3.0), timing("joint", 2, 1, 3.0), timing("joint", 1, 5, 9.0);
  study::Analysis analysis = analysed(records);
  EXPECT_EQ(analysis.wrong, "");
  const Json& joint = analysis.summary["timing"][1];
  EXPECT_EQ(joint["method"], "joint");
  EXPECT_EQ(joint["n"], 2);
  EXPECT_EQ(joint["seeds"][0]["unpaired"], 1) << "block 5 has no partner";
  EXPECT_EQ(joint["seeds"][1]["unpaired"], 0);
  EXPECT_NEAR(joint["geometric_mean"].get<double>(), 2.0, 1e-12);
  EXPECT_NEAR(joint["range"][0].get<double>(), 1.0, 1e-12);
  EXPECT_NEAR(joint["range"][1].get<double>(), 4.0, 1e-12);
}

}  // namespace
}  // namespace reprise
