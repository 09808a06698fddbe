// Records of a study: what is read back, what is refused and with which line; and the seeded order of processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "core/error.h"
#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"
#include "tests/support/text.h"
#include "tools/study/record.h"
#include "tools/study/tasks.h"

namespace reprise::study {
namespace {

namespace fs = std::filesystem;
using reprise::testing::contains;
using reprise::testing::user_error;

Json record(const std::string& id) {
  return {{"schema", kSchema},
          {"study", "a"},
          {"kind", "process"},
          {"id", id},
          {"status", "ok"},
          {"error", nullptr},
          {"order", 0},
          {"block", 0},
          {"started", "2020-01-01T00:00:00Z"},
          {"elapsed_s", 1.5},
          {"load", Json::object()},
          {"versions", Json::object()},
          {"threads", 1},
          {"workload", "w"},
          {"budget", "both"},
          {"budget_bytes", 5},
          {"granularity", "segment"},
          {"method", "joint"},
          {"wall_s", {0.5}},
          {"cpu_s", {1.0}},
          {"predicted_s", 0.5},
          {"predicted_peak_bytes", 4},
          {"measured_peak_bytes", 4},
          {"hash", Json::object()}};
}

/// A valid line, then one changed as `change` says.
template <class Change>
std::string refusal(const Change& change) {
  Json bad = record("two");
  change(bad);
  return user_error([&] { parse_records(json_line(record("one")) + "\n" + json_line(bad) + "\n", "r.jsonl", "a"); });
}

TEST(StudyRecords, WhatIsNoRecordIsRefusedWithItsLine) {
  struct Case {
    std::function<void(Json&)> change;
    const char* says;
  };
  for (const Case& wrong :
       std::vector<Case>{{[](Json& r) { r["study"] = "b"; }, "a record of the study 'a', got one of 'b'"},
                         {[](Json& r) { r["schema"] = "reprise-study/2"; }, "schema reprise-study/1"},
                         {[](Json& r) { r["kind"] = "guess"; }, "a known kind, got 'guess'"},
                         {[](Json& r) { r["status"] = "fine"; }, "ok, failed or infeasible, got 'fine'"},
                         {[](Json& r) { r["id"] = "one"; }, "'one' again, which line 1 has"},
                         {[](Json& r) { r.erase("wall_s"); }, "the field 'wall_s'"},
                         {[](Json& r) { r["wall_s"] = "fast"; }, "'wall_s' to be a list of numbers above 0"},
                         {[](Json& r) { r["wall_s"] = Json::array(); }, "not empty"},
                         {[](Json& r) {
                            r["wall_s"] = {0.5, -0.5};
                          },
                          "'wall_s' to be a list of numbers above 0"},
                         {[](Json& r) { r["cpu_s"] = Json::array({0}); }, "'cpu_s' to be a list of numbers above 0"},
                         {[](Json& r) { r["predicted_s"] = 0; }, "'predicted_s' to be a number above 0"},
                         {[](Json& r) { r["measured_peak_bytes"] = -1; }, "a whole number, not below 0"},
                         {[](Json& r) { r["block"] = -1; }, "'block' to be a whole number, not below 0"},
                         {[](Json& r) { r["block"] = 0.5; }, "'block' to be a whole number"},
                         {[](Json& r) {
                            r["hash"] = {{"state", 7}};
                          },
                          "'hash' to be an object of hashes"},
                         {[](Json& r) { r["status"] = "failed"; }, "`error` of a record that is failed"},
                         {[](Json& r) { r["status"] = "failed", r.erase("method"); }, "the field 'method'"},
                         {[](Json& r) { r["kind"] = "map", r["status"] = "infeasible"; }, "the field 'table_ratio'"},
                         {[](Json& r) {
                            r.update({{"kind", "run"}, {"layout", "shift"}, {"seed", 1}});
                            r["epochs"] = Json::parse("[{\"epoch\": 1}]");
                          },
                          "'epochs' to be a list of objects with `epoch` and `hash`"},
                         {[](Json& r) { r.erase("order"); }, "the field 'order'"}}) {
    std::string message = refusal(wrong.change);
    EXPECT_TRUE(message.starts_with("[study] r.jsonl:2: expected ")) << message;
    EXPECT_PRED2(contains, message, std::string(wrong.says));
  }
  // The last is deep enough to be the end of a program that prints it as it finds it.
  const std::string deep = "{\"schema\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  for (const std::string& text : {std::string(), std::string("nonsense"), std::string("[1, 2]"),
                                  std::string("{\"a\": 1}"), std::string("{\"schema\": \"reprise-st"), deep}) {
    std::string message = user_error([&] { parse_records(json_line(record("one")) + "\n" + text + "\n", "r.jsonl"); });
    EXPECT_TRUE(message.starts_with("[study] r.jsonl:2: expected a record")) << message;
  }
}

TEST(StudyRecords, AFailedRecordMayLackWhatWasNotMeasured) {
  Json failed = record("one");
  for (const char* field : {"wall_s", "cpu_s", "hash"}) failed.erase(field);
  failed["status"] = "failed";
  failed["error"] = "signal 9";
  EXPECT_EQ(parse_records(json_line(failed) + "\n", "r.jsonl").size(), 1u);
}

class RecordFiles : public ::testing::Test {
 protected:
  void SetUp() override { file_ = folder_ / "records.jsonl"; }
  std::vector<Record> records_in_file(const std::string& study = "") const {
    return parse_records(testing::file_text(file_), file_.string(), study);
  }
  testing::TempFolder folder_;
  fs::path file_;
};

TEST_F(RecordFiles, AppendedLinesAreReadBackAndAnUnfinishedOneIsCutOff) {
  {
    RecordFile records(file_, "a");
    records.append(record("one"));
    records.append(record("two"));
    EXPECT_EQ(records.refusal(record("three")), "");
    Json bad = record("three");
    bad["wall_s"] = Json::array();
    EXPECT_PRED2(contains, records.refusal(bad), "records.jsonl:3: expected 'wall_s' to be a list of numbers above 0");
    testing::expect_error(ErrorKind::internal, {"a second"}, [&] { records.append(record("two")); });
    EXPECT_PRED2(contains, user_error([&] { RecordFile second(file_, "a"); }), "another process works on this study");
  }
  std::ofstream(file_, std::ios::app) << json_line(record("three")).substr(0, 40);
  EXPECT_EQ(records_in_file("a").size(), 2u) << "what a killed process did not finish is no record";
  RecordFile records(file_, "a");
  EXPECT_EQ(records.cut_off(), 40u);
  records.append(record("three"));
  std::vector<Record> all = records_in_file();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].id, "three");
  EXPECT_EQ(all[2].line, 3);
}

TEST(StudyOrder, IsAPermutationThatFollowsFromTheSeed) {
  std::vector<std::size_t> order = random_order(20, 3, 1);
  EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 20u);
  EXPECT_EQ(order, random_order(20, 3, 1));
  EXPECT_NE(order, random_order(20, 4, 1));
  EXPECT_NE(order, random_order(20, 3, 2));
  // Each of the six orders of three comes about equally often: 600 expected, five standard deviations are 112.
  std::map<std::vector<std::size_t>, int> seen;
  for (std::uint64_t id = 0; id < 3600; ++id) ++seen[random_order(3, 9, id)];
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [which, count] : seen) EXPECT_NEAR(count, 600, 112);
}

TEST(StudyOrder, BlocksOfACellStandInOrderAndAreSpreadOverTheWholeTime) {
  auto order = interleaved_blocks({50, 5}, 1);
  ASSERT_EQ(order.size(), 55u);
  std::vector<std::int64_t> next(2, 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto [cell, block] = order[i];
    EXPECT_EQ(block, next[cell]++);
    if (cell == 0) continue;
    EXPECT_NEAR(static_cast<double>(i), 11.0 * static_cast<double>(block) + 5.5, 8) << "each fifth has one";
  }
  EXPECT_EQ(order, interleaved_blocks({50, 5}, 1));
  EXPECT_NE(order, interleaved_blocks({50, 5}, 2));
}

}  // namespace
}  // namespace reprise::study
