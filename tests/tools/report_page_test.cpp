// Pages of reports and `reprise report`: they stand alone, are well-formed and the same for the same records; what is
// no record is refused with its line.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <set>

#include "core/error.h"
#include "recompute/planning/planner.h"
#include "tests/support/errors.h"
#include "tests/support/program.h"
#include "tests/tools/report_records.h"
#include "tools/report/report.h"

namespace reprise::report {
namespace {

namespace fs = std::filesystem;
using namespace reprise::testing;  // NOLINT

/// What was said in the error; "" where there was none.
std::string error_at(const fs::path& path) {
  return error_of([&] { make_report(path); });
}

/// The reports of everything() and of a cohort, made once.
const Document& whole_report() {
  static const Document document = make_report(study_of("page", everything()));
  return document;
}

const Document& cohort_report() {
  static const Document document = make_report(cohort_of("page_cohort"));
  return document;
}

Document odd_document() {
  Document document;
  document.title = "<title> & \"quotes\"";
  document.heading(2, "a | b");
  document.heading(2, "]]>");
  document.text("*stars* and `ticks` \x01\xff");
  document.table({"a <caption>", {{"<b>", false}, {"n|m"}}, {{"x\ny", "1"}, {"", "−2"}}, {0}});
  document.list({"<li>", ""});
  document.blocks.push_back(Listing{"a file", "```\n<xml/>\n"});
  return document;
}

TEST(ReportPage, IsWellFormedXml) {
  if (run_shell("python3 -c 'import xml.etree.ElementTree'").code != 0) GTEST_SKIP() << "no python3";
  fs::path folder = report_folder("well_formed");
  write_text(folder / "a.html", to_html(whole_report()));
  write_text(folder / "b.html", to_html(cohort_report()));
  write_text(folder / "c.html", to_html(odd_document()));
  write_text(folder / "d.html", to_html({}));
  for (const char* file : {"a.html", "b.html", "c.html", "d.html"}) {
    Outcome outcome = run_shell("python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' " +
                                shell_word((folder / file).string()) + " 2>&1");
    EXPECT_EQ(outcome.code, 0) << file << ": " << outcome.text;
  }
}

TEST(ReportPage, NamesNothingOutsideItself) {
  for (const std::string& page : {to_html(whole_report()), to_html(cohort_report())}) {
    for (const char* part : {"http", "src=", "<link", "<script", "@import", "xlink", "<img", "<iframe"}) {
      EXPECT_EQ(page.find(part), std::string::npos) << part;
    }
    std::regex reference("(href=|url\\()[\"']?([^\"')]*)");
    for (std::sregex_iterator at(page.begin(), page.end(), reference), end; at != end; ++at)
      EXPECT_EQ((*at)[2].str()[0], '#') << (*at)[0];
  }
}

TEST(ReportPage, LinksLeadToSections) {
  std::string page = to_html(whole_report());
  std::regex link("<a href=\"#([^\"]*)\">");
  int links = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), link), end; at != end; ++at, ++links) {
    EXPECT_PRED2(contains, page, " id=\"" + (*at)[1].str() + "\"");
  }
  EXPECT_EQ(links, 8);
}

TEST(ReportPage, SameRecordsSameBytes) {
  Document again = make_report(study_of("page", everything()));
  EXPECT_EQ(to_html(whole_report()), to_html(again));
  EXPECT_EQ(to_markdown(whole_report()), to_markdown(again));
}

TEST(ReportPage, FiguresHaveNamesOfTheirOwn) {
  const Document& document = whole_report();
  std::set<std::string> names;
  std::size_t count = 0;
  for (const Block& block : document.blocks) {
    const Figure* figure = std::get_if<Figure>(&block);
    if (!figure) continue;
    names.insert(figure->name);
    ++count;
    EXPECT_TRUE(std::regex_match(figure->name, std::regex("[a-z0-9-]+"))) << figure->name;
    EXPECT_FALSE(figure->caption.empty());
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_GE(count, 11U);
}

TEST(ReportPage, MarkdownKeepsTablesWhole) {
  std::string text = to_markdown(odd_document(), "p.");
  EXPECT_PRED2(contains, text, "| \\<b> | n\\|m |\n| --- | ---: |\n| **x y** | **1** |\n|  | −2 |\n");
  EXPECT_PRED2(contains, text, "\\*stars\\* and \\`ticks\\`");
  EXPECT_PRED2(contains, text, "````\n```\n<xml/>\n````\n");
}

TEST(ReportPage, ABadRecordIsRefusedWithItsLine) {
  std::vector<Json> records = everything();
  fs::path folder = study_of("bad", records);
  std::string good = file_text(folder / "records.jsonl"), file = (folder / "records.jsonl").string();
  write_text(file, good + "{\"schema\": \"reprise-study/1\"}\n");
  std::string place = file + ":" + std::to_string(records.size() + 1) + ": ";
  EXPECT_PRED2(contains, error_at(folder), place);
  records[3]["study"] = "another";
  write_text(file, lines_of(records));
  EXPECT_PRED2(contains, error_at(folder), file + ":4: ");
  write_text(file, good.substr(0, good.size() - 20));  // a line that a killed process did not finish was never a record
  EXPECT_EQ(error_at(folder), "");
}

TEST(ReportPage, WhatIsNoStudyIsRefused) {
  fs::path folder = report_folder("nothing");
  EXPECT_PRED2(contains, error_at(folder), "without records.jsonl");
  EXPECT_PRED2(contains, error_at(folder / "missing"), "nothing there");
  write_text(folder / "notes.txt", "x");
  EXPECT_PRED2(contains, error_at(folder / "notes.txt"), "ends in .jsonl");
}

TEST(ReportPage, ACohortWithABadRecordIsRefused) {
  auto with = [](const std::function<std::string(const std::string&)>& edit) {
    return error_at(cohort_of("bad_cohort", edit));
  };
  EXPECT_PRED2(contains, with([](const std::string& good) { return good + "[]\n"; }), "reprise_region.jsonl:5: ");
  EXPECT_PRED2(contains, with([](const std::string& good) {
                 return std::regex_replace(good, std::regex("reject_allowed"), "maybe");
               }),
               "reprise_region.jsonl:3: expected a known verdict");
  EXPECT_PRED2(contains, with([](const std::string& good) { return good.substr(good.find('\n') + 1); }),
               "manifest.json:1: ");
  EXPECT_EQ(with({}), "");
}

TEST(ReportVerb, WritesAPageAndMarkdownWithItsPictures) {
  fs::path folder = study_of("verb", everything());
  Outcome outcome = testing::reprise("report " + shell_word(folder.string()));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text,
            (folder / "report/report.html").string() + "\n" + (folder / "report/report.md").string() + "\n");
  std::string text = file_text(folder / "report/report.md");
  std::regex picture("\\]\\((report\\.[a-z0-9-]+\\.svg)\\)");
  int pictures = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), picture), end; at != end; ++at, ++pictures) {
    EXPECT_TRUE(fs::exists(folder / "report" / (*at)[1].str())) << (*at)[1];
  }
  EXPECT_GE(pictures, 11);
}

TEST(ReportVerb, ReadsACompressedFileOfRecords) {
  if (run_shell("xz --version > /dev/null 2>&1").code != 0) GTEST_SKIP() << "no xz";
  fs::path folder = study_of("compressed", everything());
  fs::path plain = folder / "made_up.jsonl", file = folder / "made_up.jsonl.xz";
  fs::copy_file(folder / "records.jsonl", plain);
  ASSERT_EQ(run_shell("xz " + shell_word(plain.string())).code, 0);
  Outcome outcome =
      testing::reprise("report " + shell_word(file.string()) + " -o " + shell_word((folder / "out").string()));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_PRED2(contains, file_text(folder / "out/made_up.md"), "# Study made_up");
  EXPECT_EQ(testing::reprise("report " + shell_word(file.string())).code, 2);  // no place for the report
}

/// Of a timeline of live bytes.
std::int64_t peak_of_step(const Json& memory) {
  std::int64_t live = 0, peak = 0;
  for (const Json& bytes : memory["before"]) live += bytes.get<std::int64_t>();
  for (const Json& delta : memory["delta"]) peak = std::max(peak, live += delta.get<std::int64_t>());
  return peak;
}

TEST(ReportVerb, TracesMemoryUnderThePlansOfAStudy) {
  fs::path folder = report_folder("traced");
  std::string study = std::string(REPRISE_SOURCE_DIR) + "/configs/studies/sparse_write_small.yaml";
  Outcome outcome = testing::reprise("study " + shell_word(study) + " -o " + shell_word(folder.string()));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  outcome = testing::reprise("report --memory " + shell_word(folder.string()));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  for (const std::string& method : plannable_methods())
    EXPECT_TRUE(fs::exists(folder / ("extra/row_memory." + method + ".json"))) << method;
  std::string text = file_text(folder / "report/report.md");
  EXPECT_PRED2(contains, text, "](report.memory-row-memory.svg)");
  // The step that was traced is the one whose peak the plan predicts.
  Json plan = Json::parse(file_text(folder / "plans/row_memory.both.segment.joint.json"));
  Json memory = Json::parse(file_text(folder / "extra/row_memory.joint.json"))["memory"]["predicted"];
  EXPECT_EQ(peak_of_step(memory), plan["predicted_peak"].get<std::int64_t>());
  // A method without a plan at the budget of the others is drawn at its least peak.
  Json least = Json::parse(file_text(folder / "extra/row_memory.retain+region.json"));
  EXPECT_EQ(least["budget_bytes"], nullptr);
  Json start =
      Json::parse(file_text(folder / "records.jsonl").substr(0, file_text(folder / "records.jsonl").find('\n')));
  Json known = start["smallest_feasible"]["row_memory"]["segment"];
  EXPECT_EQ(peak_of_step(least["memory"]["predicted"]), known["retain+region"].get<std::int64_t>());
  // Without workloads and plans there is nothing to trace.
  EXPECT_EQ(
      testing::reprise("report --memory " + shell_word(study_of("untraced", {record_of("study", "study")}).string()))
          .code,
      2);
}

TEST(ReportVerb, AMistakeHasItsExitCodeAndItsPlace) {
  fs::path folder = report_folder("mistake");
  write_text(folder / "records.jsonl", "nothing\n");
  Outcome outcome = testing::reprise("report " + shell_word(folder.string()));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_PRED2(contains, outcome.text, (folder / "records.jsonl").string() + ":1: ");
  EXPECT_EQ(testing::reprise("report " + shell_word((folder / "none").string())).code, 2);
}

}  // namespace
}  // namespace reprise::report
