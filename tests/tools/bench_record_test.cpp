// `reprise bench --record` and the report of what it kept: nothing is lost, foreign lines are refused with their place,
// and what was wanted is judged as a person would.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tests/support/errors.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"
#include "tools/bench/record.h"
#include "tools/report/report.h"

namespace reprise::bench {
namespace {

using testing::Outcome;
using testing::TempFolder;

Json row_of(const char* what, const char* unit, std::vector<double> ours, std::vector<double> peer,
            const char* target) {
  Json row = {{"what", what}, {"unit", unit}, {"ours", {{"samples", ours}}}, {"target", target}};
  if (!peer.empty()) row["peer"] = {{"samples", peer}};
  return row;
}

Json good_record() {
  Json fast = row_of("a fast thing", "ms", {2, 1, 3}, {10, 8, 12}, "0.25 of the peer");
  Json slow = row_of("a slow thing", "ms", {2, 1, 3}, {4, 4, 4}, "0.40 of the peer, about 1 ms");
  Json rate = row_of("images", "img/s", {600}, {200}, "2.5 times whole-batch tensor ops");
  rate["more_is_better"] = true;
  Json ratio = row_of("replayed", "x", {1.1, 1.2, 1.3, 1.25, 1.15, 1.2}, {}, "1.25");
  ratio["upper_95_percent"] = 1.3;
  Json count = row_of("announcing", "ns", {90}, {}, "100 ns");
  Json words = row_of("look-up", "ns", {90}, {}, "O(log n)");
  return {{"schema", kRecordSchema},
          {"bench", "step"},
          {"command", "bench step --threads 1 --peer PYTHON"},
          {"started", "2026-01-02T03:04:05Z"},
          {"load", {{"before", 0.25}, {"after", 1}}},
          {"versions", {{"reprise", "0.1"}, {"commit", "abc"}, {"compiler", "gcc"}, {"onednn", "2.6"}}},
          {"threads", 1},
          {"title", "step: some model"},
          {"header", {"AMD, 2 cores"}},
          {"rows", {fast, slow, rate, ratio, count, words}},
          {"remarks", {"a remark"}}};
}

TEST(BenchRecord, EachCallAppendsALineAndTheReportHasThemAll) {
  TempFolder folder;
  std::string file = (folder / "kept.jsonl").string();
  for (const char* what : {"optim --quick --rounds 2", "startup --quick --rounds 1"}) {
    Outcome outcome = testing::reprise("bench " + std::string(what) + " --record '" + file + "'");
    ASSERT_EQ(outcome.code, 0) << outcome.text;
  }
  std::vector<Json> records = parse_records(testing::file_text(file), file);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["command"], "bench optim --threads 1 --rounds 2 --quick");
  EXPECT_TRUE(records[1]["versions"]["processor"].is_string());
  ASSERT_EQ(testing::run_shell("xz -k '" + file + "'").code, 0);
  Outcome outcome = testing::reprise("report '" + file + ".xz' -o '" + (folder / "out").string() + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::string page = testing::file_text(folder / "out" / "kept.md");
  EXPECT_NE(page.find("## bench optim"), std::string::npos) << page;
  EXPECT_NE(page.find("## bench startup"), std::string::npos) << page;
}

TEST(BenchRecord, OneThatCouldNotBeReadAgainIsNotKept) {
  TempFolder folder;
  append_record(folder / "kept.jsonl", good_record());
  std::string before = testing::file_text(folder / "kept.jsonl");
  Json record = good_record();
  record["rows"][1]["ours"]["samples"][0] = std::nan("");  // JSON has no such number
  testing::expect_error(ErrorKind::internal, {"[bench]", "expected numbers in `ours.samples`, got null"},
                        [&] { append_record(folder / "kept.jsonl", record); });
  EXPECT_EQ(testing::file_text(folder / "kept.jsonl"), before);
}

TEST(BenchRecord, TargetsAreJudgedByThePeerWhereTheySpeakOfIt) {
  TempFolder folder;
  append_record(folder / "kept.jsonl", good_record());
  std::string page = report::to_markdown(report::make_report(folder / "kept.jsonl"));
  auto line_of = [&](const std::string& what) {
    std::size_t at = page.find(what + "** |") != std::string::npos ? page.find("**" + what) : page.find("| " + what);
    return at == std::string::npos ? "no line of " + what : page.substr(at, page.find('\n', at) - at);
  };
  EXPECT_NE(line_of("a fast thing").find("| 0.200 | 0.25 of the peer | met |"), std::string::npos) << page;
  EXPECT_NE(line_of("a slow thing").find("**missed**"), std::string::npos) << page;
  EXPECT_NE(line_of("images").find("| met |"), std::string::npos) << page;
  // The median is below what was wanted; its upper limit is not.
  EXPECT_NE(line_of("replayed").find("**missed**"), std::string::npos) << page;
  EXPECT_NE(line_of("announcing").find("| met |"), std::string::npos) << page;
  EXPECT_EQ(line_of("look-up").find("met"), std::string::npos) << page;
  EXPECT_NE(page.find("a slow thing: 0.500 of the peer's, wanted at most 0.400: missed"), std::string::npos) << page;
  EXPECT_NE(page.find("load 0.25 before, 1.00 after"), std::string::npos) << page;
}

TEST(BenchRecord, ForeignLinesAreRefusedWithTheirPlaceAndTheFileStays) {
  TempFolder folder;
  std::filesystem::path file = folder / "kept.jsonl";
  append_record(file, good_record());
  std::string good = testing::file_text(file);
  Json other = good_record(), rowless = good_record(), words = good_record();
  other["schema"] = "reprise-study/1";
  rowless.erase("rows");
  words["rows"][0]["ours"]["samples"][1] = "fast";
  // Deep enough to be the end of a program that prints it as it finds it.
  const std::string deep = "{\"schema\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  for (const std::string& line :
       {std::string("{"), std::string("[1]"), other.dump(), rowless.dump(), words.dump(), deep}) {
    std::string text = good + line + "\n";
    std::ofstream(file) << text;
    for (const std::string& error : {testing::user_error([&] { append_record(file, good_record()); }),
                                     testing::user_error([&] { report::make_report(file); })}) {
      EXPECT_NE(error.find("kept.jsonl:2: expected "), std::string::npos) << error;
    }
    EXPECT_EQ(testing::file_text(file), text);
  }
  Outcome named = testing::reprise("bench optim --quick --record '" + (folder / "kept.csv").string() + "'");
  EXPECT_EQ(named.code, 2);
  EXPECT_NE(named.text.find("--record FILE.jsonl"), std::string::npos) << named.text;
}

}  // namespace
}  // namespace reprise::bench
