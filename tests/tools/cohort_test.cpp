// `reprise cohort`: a small committed cohort is read and counted; files and records that are not what they should be
// are refused with their place; the Python side's own checks run where Python has NumPy.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/errors.h"
#include "tests/support/program.h"
#include "tests/support/surroundings.h"
#include "tests/support/temp_folder.h"
#include "tools/cohort_view/cohort.h"
#include "tools/cohort_view/sha256.h"

namespace reprise::cohort {
namespace {

namespace fs = std::filesystem;
using reprise::testing::file_text;
using reprise::testing::shared_programs;
using reprise::testing::TempFolder;
using reprise::testing::user_error;

fs::path small_cohort() { return fs::path(REPRISE_SOURCE_DIR) / "tests" / "tools" / "small_cohort"; }

std::string hash_of(const std::string& text) {
  return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

/// A copy of the small cohort in which one mode's file is plain text, so that a test can change it.
class ChangedCohort : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(small_cohort(), folder_.path());
    Cohort cohort = read_cohort(folder_.path());
    manifest_ = cohort.manifest;
    for (const Record& record : cohort.modes[0].records) lines_.push_back(record.text);
  }

  /// The error of reading the cohort with these lines in its first mode; the manifest knows their hash and number.
  std::string error_with(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    Json& entry = manifest_["modes"][0];
    entry["file"] = "plain.jsonl";
    entry["sha256"] = hash_of(text);
    entry["lines"] = lines.size();
    std::ofstream(folder_ / "plain.jsonl", std::ios::binary) << text;
    std::ofstream(folder_ / "manifest.json") << manifest_.dump();
    return user_error([&] { read_cohort(folder_.path()); });
  }

  std::vector<std::string> with_change(std::size_t line, const std::string& key, const Json& value) {
    std::vector<std::string> lines = lines_;
    Json json = Json::parse(lines[line]);
    json[key] = value;
    lines[line] = json.dump();
    return lines;
  }

  TempFolder folder_;
  Json manifest_;
  std::vector<std::string> lines_;
};

TEST_F(ChangedCohort, AnotherFileIsNoCohort) {
  EXPECT_EQ(user_error([&] { read_cohort(folder_ / "manifest.json"); }), "");
  fs::path other = folder_ / "programs.jsonl.xz";
  EXPECT_EQ(user_error([&] { read_cohort(other); }),
            "[cohort] expected a folder with manifest.json, got the file " + other.string());
}

TEST_F(ChangedCohort, WithoutARecordIsRefused) {
  manifest_["modes"] = Json::array();
  manifest_["records"] = 0;
  std::ofstream(folder_ / "manifest.json") << manifest_.dump();
  std::string error = user_error([&] { read_cohort(folder_.path()); });
  EXPECT_NE(error.find("manifest.json:1: expected modes with records, got none"), std::string::npos) << error;
  std::ofstream(folder_ / "manifest.json") << "{\n\"schema\" = 1}";
  error = user_error([&] { read_cohort(folder_.path()); });
  EXPECT_NE(error.find("manifest.json:2:10: expected a manifest as JSON"), std::string::npos) << error;
}

TEST(Sha256, GivesThePublishedHashes) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of(std::string(1000, 'a')), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
  EXPECT_EQ(hash_of(std::string(56, 'b')), "a5fc6e203a4c2b657d0d153885932414b2ffc6a93f0f8bf8b3183315e5a7212c");
}

TEST(CohortView, CountsVerdictsOfTheSmallCohort) {
  Cohort cohort = read_cohort(small_cohort());
  Json counts = summary(cohort)["modes"];
  // Known from the language: reading overwritten bytes under PyTorch's checkpoint is silently wrong, here never.
  EXPECT_EQ(counts["torch_eager"]["verdicts"]["match"], 3);
  EXPECT_EQ(counts["torch_nonreentrant"]["verdicts"]["silent"], 2);
  EXPECT_EQ(counts["torch_nonreentrant"]["verdicts"]["state"], 1);
  EXPECT_EQ(counts["reprise_region"]["verdicts"]["match"], 3);
  EXPECT_EQ(counts["torch_nonreentrant"]["classes"]["C01"]["wrong"], 1);
  EXPECT_NE(class_table(cohort).find("1/1"), std::string::npos);
}

TEST(CohortView, ListsWhereTwoModesDiffer) {
  Cohort cohort = read_cohort(small_cohort());
  std::string list = difference_list(cohort, "torch_eager", "torch_nonreentrant");
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 3);
  EXPECT_NE(list.find("c01_copy"), std::string::npos);
  EXPECT_EQ(difference_list(cohort, "torch_eager", "reprise_region"), "");
  EXPECT_NE(user_error([&] { difference_list(cohort, "torch_eager", "nothing"); }).find("torch_nonreentrant"),
            std::string::npos);
}

TEST(CohortView, GivesProgramsBack) {
  Cohort cohort = read_cohort(small_cohort());
  EXPECT_EQ(read_program(cohort, "c01_copy")["format"], "reprise-conformance/1");
  EXPECT_NE(user_error([&] { read_program(cohort, "c99"); }).find("c99"), std::string::npos);
}

TEST_F(ChangedCohort, AFlippedByteIsRefused) {
  std::string file = manifest_["modes"][1]["file"];
  std::string bytes = file_text(folder_ / file);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(folder_ / file, std::ios::binary) << bytes;
  std::string error = user_error([&] { read_cohort(folder_.path()); });
  EXPECT_NE(error.find(file), std::string::npos) << error;
  EXPECT_NE(error.find("sha256"), std::string::npos) << error;
}

TEST_F(ChangedCohort, ItsProgramsAreCheckedToo) {
  fs::path file = folder_ / "programs.jsonl.xz";
  std::string bytes = file_text(file);
  std::ofstream(file, std::ios::binary) << bytes << "x";
  EXPECT_NE(user_error([&] { read_cohort(folder_.path()); }).find("programs.jsonl.xz: expected the file whose sha256"),
            std::string::npos);
  std::string text = R"({"name": "c01_copy", "program": {}})"
                     "\n";
  manifest_["programs"] = {{"file", "plain_programs.jsonl"}, {"sha256", hash_of(text)}, {"lines", 1}};
  std::ofstream(folder_ / "plain_programs.jsonl", std::ios::binary) << text;
  std::string error = error_with(lines_);
  EXPECT_NE(error.find("plain.jsonl:2: expected one of the programs of the manifest, got '"), std::string::npos)
      << error;
}

TEST_F(ChangedCohort, OtherVerdictsThanTheManifestCountsAreRefused) {
  std::vector<std::string> lines = with_change(1, "verdict", "silent");
  std::string error = error_with(lines);
  EXPECT_NE(error.find("manifest.json:1: expected the verdicts {\"match\":2,\"silent\":1} of mode torch_eager"),
            std::string::npos)
      << error;
  for (const char* counts : {R"({"match": 2, "silent": 1})", R"({"silent": 1, "match": 2})"}) {
    manifest_["modes"][0]["verdicts"] = Json::parse(counts);
    EXPECT_EQ(error_with(lines), "") << "in whatever order they stand";
  }
}

TEST_F(ChangedCohort, UnchangedLinesAreRead) { EXPECT_EQ(error_with(lines_), ""); }

TEST_F(ChangedCohort, ABadLineIsNamed) {
  std::vector<std::string> lines = lines_;
  lines[1] = "{\"id\":";
  EXPECT_NE(error_with(lines).find("plain.jsonl:2:"), std::string::npos);
}

TEST_F(ChangedCohort, AForeignRecordIsNamed) {
  EXPECT_NE(error_with(with_change(2, "mode", "jax_ref")).find("plain.jsonl:3: expected mode"), std::string::npos);
  EXPECT_NE(error_with(with_change(0, "id", "other@mode")).find("plain.jsonl:1:"), std::string::npos);
  EXPECT_NE(error_with(with_change(0, "verdict", "fine")).find("verdict"), std::string::npos);
  EXPECT_NE(error_with(with_change(0, "grads", nullptr)).find("grads"), std::string::npos);
}

TEST_F(ChangedCohort, ARecordTwiceOrTooFewAreRefused) {
  std::vector<std::string> twice = lines_;
  twice[2] = twice[0];
  EXPECT_NE(error_with(twice).find("plain.jsonl:3:"), std::string::npos);
  EXPECT_NE(error_with({lines_[0]}).find("records"), std::string::npos);
}

TEST(CohortRunner, OracleGeneratorAndVerdictsPassTheirOwnChecks) {
  if (std::string reason = reprise::testing::python_lacks("numpy"); !reason.empty()) GTEST_SKIP() << reason;
  if (!fs::exists(shared_programs())) GTEST_SKIP() << "no conformance programs at " << shared_programs();
  std::string command = std::string(REPRISE_SOURCE_DIR) + "/tools/cohort/run --self-check --python " +
                        reprise::testing::python() + " --public " + shared_programs() + " 2>&1";
  reprise::testing::Outcome outcome = reprise::testing::run_shell(command);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
}

/// `tools/cohort/run` in miniature: two modes of Reprise, so that no other framework is needed, the three programs of
/// the small cohort and two generated ones.
class CohortRun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string reason = reprise::testing::python_lacks("numpy"); !reason.empty()) GTEST_SKIP() << reason;
    Cohort cohort = read_cohort(small_cohort());
    fs::create_directories(folder_ / "public");
    for (const Record& record : cohort.modes[0].records)
      std::ofstream(folder_ / "public" / (record.program + ".json")) << read_program(cohort, record.program).dump();
  }

  std::string command(const std::string& output, const std::string& rest = "",
                      const std::string& program = reprise::testing::program_word()) const {
    return std::string(REPRISE_SOURCE_DIR) + "/tools/cohort/run --python " + reprise::testing::python() +
           " --reprise " + program + " --public " + (folder_ / "public").string() +
           " --generated 2 --jobs 1 --only reprise_retain --only reprise_region -o " + (folder_ / output).string() +
           " " + rest + " 2>&1";
  }
  fs::path part(const std::string& output, const std::string& mode) const {
    return folder_ / output / "parts" / (mode + ".jsonl");
  }

  /// The records of a finished run without what depends on the machine.
  std::vector<std::string> records(const std::string& output) const {
    std::vector<std::string> all;
    for (const Mode& mode : read_cohort(folder_ / output).modes) {
      for (const Record& record : mode.records) {
        Json json = Json::parse(record.text);
        json.erase("seconds");
        all.push_back(json.dump());
      }
    }
    return all;
  }

  TempFolder folder_;
};

TEST_F(CohortRun, KilledHalfWayItGoesOnAndTheRecordsAreThoseOfOneRun) {
  reprise::testing::Outcome whole = reprise::testing::run_shell(command("whole"));
  ASSERT_EQ(whole.code, 0) << whole.text;
  std::vector<std::string> expected = records("whole");
  EXPECT_EQ(expected.size(), 10U);

  std::string first = part("killed", "reprise_retain").string(), second = part("killed", "reprise_region").string();
  std::string lines = "[ $(cat " + first + " 2> /dev/null | wc -l) -ge 5 ]", slow = (folder_ / "slow").string();
  std::ofstream(slow) << "#!/bin/sh\ncase \"$*\" in *region*) sleep 3 ;; esac\nexec "
                      << reprise::testing::program_word() << " \"$@\"\n";
  fs::permissions(slow, fs::perms::owner_all);
  reprise::testing::run_shell("TMPDIR=" + folder_.path().string() + " " + command("killed", "", slow) +
                              " > /dev/null & driver=$!; for i in $(seq 2000); do " + lines +
                              " && break; sleep 0.01; done; kill -9 $driver; wait $driver; true");
  ASSERT_TRUE(fs::exists(first)) << "it was killed after the records of the first mode";
  ASSERT_FALSE(fs::exists(folder_ / "killed" / "report")) << "and before its end";
  if (!fs::exists(second)) std::ofstream(second, std::ios::app) << R"({"id": "c01_copy@reprise_reg)";  // cut short
  reprise::testing::Outcome rest = reprise::testing::run_shell(command("killed"));
  ASSERT_EQ(rest.code, 0) << rest.text;
  EXPECT_EQ(rest.text.find("reprise_retain:"), std::string::npos) << "what has a record is not done again";
  EXPECT_EQ(records("killed"), expected);
}

TEST_F(CohortRun, ACorruptedOrForeignRecordIsRefusedWithItsLine) {
  ASSERT_EQ(reprise::testing::run_shell(command("a")).code, 0);
  std::string good = file_text(part("a", "reprise_region")), foreign = file_text(part("a", "reprise_retain"));
  for (const std::string& bad : {std::string("nonsense"), good.substr(0, 40), foreign.substr(0, foreign.find('\n'))}) {
    std::ofstream(part("a", "reprise_region"), std::ios::binary) << good << bad << "\n";
    reprise::testing::Outcome outcome = reprise::testing::run_shell(command("a"));
    EXPECT_NE(outcome.code, 0) << bad;
    EXPECT_NE(outcome.text.find("reprise_region.jsonl:6: expected "), std::string::npos) << outcome.text;
  }
}

TEST_F(CohortRun, ASingleRecordIsRerunByItsId) {
  ASSERT_EQ(reprise::testing::run_shell(command("a")).code, 0);
  reprise::testing::Outcome again = reprise::testing::run_shell(command("a", "--id g00002@reprise_region"));
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_NE(again.text.find("\"id\": \"g00002@reprise_region\""), std::string::npos) << again.text;
  EXPECT_NE(again.text.find("the same verdict and values"), std::string::npos) << again.text;

  // In a new folder it is held against the committed records, and no other program is made for it.
  again = reprise::testing::run_shell(command("b", "--id g00002@reprise_region"));
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_NE(again.text.find("records/cohort/reprise_region.jsonl.xz"), std::string::npos) << again.text;
  EXPECT_TRUE(fs::exists(folder_ / "b/programs/g00002.json"));
  EXPECT_FALSE(fs::exists(folder_ / "b/programs/g00001.json"));
  again = reprise::testing::run_shell(command("b", "--id nothing@reprise_region"));
  EXPECT_NE(again.code, 0) << again.text;
  EXPECT_NE(again.text.find("expected PROGRAM@MODE, got nothing@reprise_region"), std::string::npos) << again.text;
}

}  // namespace
}  // namespace reprise::cohort
