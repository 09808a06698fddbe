// What a report says first: whether targets were met and why not, whether the study is at its end, what a reader of the
// budgets and of the peaks must know.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/program.h"
#include "tests/tools/report_records.h"
#include "tools/report/report.h"
#include "tools/study/tasks.h"

namespace reprise::report {
namespace {

namespace fs = std::filesystem;
using namespace reprise::testing;  // NOLINT

/// All lists and paragraphs, a line each.
std::string said_in(const Document& document) {
  std::string text;
  for (const Block& block : document.blocks) {
    if (const Paragraph* paragraph = std::get_if<Paragraph>(&block)) text += paragraph->text + "\n";
    if (const List* list = std::get_if<List>(&block)) {
      for (const std::string& item : list->items) text += item + "\n";
    }
  }
  return text;
}

/// What the report of these records says.
std::string said_of(const std::string& name, const std::vector<Json>& records) {
  return said_in(make_report(study_of("findings_" + name, records)));
}

void set_in_joint(std::vector<Json>& records, const char* field, double value) {
  for (Json& record : records) {
    if (record.contains("method") && record["method"] == "joint") record[field] = value;
  }
}

/// retain+whole may keep everything wherever it has a plan, and joint chooses the same there; at node it does better.
std::vector<Json> same_plans() {
  constexpr std::int64_t kMiB = 1 << 20;
  std::vector<Json> records{record_of("study", "study")};
  records[0]["smallest_feasible"] = {
      {"row_memory", {{"segment", {{"retain", 649 * kMiB}, {"retain+whole", 649 * kMiB}, {"whole", 738 * kMiB}}}}}};
  for (const std::string granularity : {"node", "segment"}) {
    for (const std::string method : {"joint", "retain+whole"}) {
      for (std::int64_t block = 0; block < 2; ++block) {
        bool better = granularity == "node" && method == "joint";
        Json record = process_of("row_memory", "both", method, block, better ? 0.5 : 1);
        record["id"] = fmt::format("{}/{}/{}", granularity, method, block);
        record["granularity"] = granularity;
        record["plan"] = better ? "b" : "a";
        records.push_back(std::move(record));
      }
    }
  }
  return records;
}

TEST(ReportFindings, AMissedTargetIsExplainedFromPlansBudgetsAndMemory) {
  std::string text = said_of("why", same_plans());
  for (const char* part :
       {"Target at most 0.80: MISSED by 0.2000. The planner predicted 1.0000;", "Both chose the same plan there",
        "The smallest budget of retain+whole is 649 MiB, and keeping everything (retain) takes 649 MiB: wherever "
        "retain+whole has a plan at all, everything can be kept",
        "Replaying everything with whole copies of the state takes 738 MiB, more than keeping everything: the copies "
        "come to 24 MiB",  // memory_of: at most eight times 3 MiB
        "At granularity node, without a target: 0.5000 [0.5000, 0.5000] over 2 pairs, predicted 0.5000."}) {
    EXPECT_PRED2(contains, text, std::string(part));
  }
  std::vector<Json> cheaper = same_plans();
  cheaper[0]["smallest_feasible"]["row_memory"]["segment"]["retain+whole"] = 1 << 20;
  EXPECT_FALSE(contains(said_of("cheaper", cheaper), "keeping everything")) << "there it may replay";
}

TEST(ReportFindings, TheMeasurementIsTestedByMethodsOfOnePlanAndHeldAgainstPredictedTimes) {
  std::vector<Json> records = same_plans();
  set_in_joint(records, "predicted_s", 0.8);  // of 1 s at segment and of 0.5 s at node
  std::string text = said_of("measurement", records);
  EXPECT_PRED2(
      contains, text,
      "contains 1 in 1 of 1 such comparison by the bootstrap, which is too short where pairs are few, and in 1 "
      "by log-t; the ratios are within [1.0000, 1.0000].");
  EXPECT_PRED2(contains, text,
               "are 0.6250 (row_memory, both, node, joint) to 1.2500 (row_memory, both, segment, joint) times the "
               "predicted ones, over 4 methods at their budgets.");
  for (Json& record : records) {
    if (record["id"] == "segment/joint/0" || record["id"] == "segment/joint/1") record["wall_s"] = {0.9};
  }
  EXPECT_PRED2(contains, said_of("unequal", records), "contains 1 in 0 of 1 such comparison by the bootstrap");
}

TEST(ReportFindings, AMissWithOtherPlansIsHeldAgainstThePlanner) {
  std::vector<Json> records = small_study();  // joint at best 0.81 where retain+whole is predicted to take 1
  EXPECT_PRED2(contains, said_of("bound", records),
               "No plan of joint could be expected to reach the target: its lower bound is 0.8100 of what retain+whole "
               "is predicted to take.");
  set_in_joint(records, "lower_bound_s", 0.5);
  EXPECT_PRED2(contains, said_of("planner", records),
               "found no plan of joint that reaches the target; its lower bound, 0.5000, leaves room for one.");
  set_in_joint(records, "predicted_s", 0.6);
  EXPECT_PRED2(contains, said_of("machine", records),
               "By the plans it should have been met: joint took 1.3333 times what was predicted, retain+whole took "
               "1.0000 times what was predicted.");
  std::erase_if(records, [](const Json& record) {
    return record["status"] == "ok" && record["kind"] == "process" && record["method"] == "retain+whole";
  });
  records.push_back(
      without_result(process_of("row_memory", "both", "retain+whole", 9, 1), "infeasible", "needs 9 GiB"));
  EXPECT_PRED2(contains, said_of("none", records),
               "has no pair of processes (target: at most 0.80). retain+whole has no plan there: needs 9 GiB.");
}

TEST(ReportFindings, GranularitiesStandSideBySideSegmentFirst) {
  Document document = make_report(study_of("findings_beside", same_plans()));
  std::vector<std::string> headings, row;
  for (const Block& block : document.blocks) {
    if (const Heading* heading = std::get_if<Heading>(&block); heading && heading->level > 2)
      headings.push_back(heading->text);
    const Table* table = std::get_if<Table>(&block);
    if (table && table->caption.starts_with("The same ratios of step time")) row = table->rows.at(0);
  }
  std::vector<std::string> expected{"row_memory", "row_memory, granularity segment", "row_memory, granularity node"};
  ASSERT_GE(headings.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), headings.begin()));
  EXPECT_EQ(row, (std::vector<std::string>{"both", "joint", "retain+whole", "1.0000 [1.0000, 1.0000] (2)",
                                           "1.0000, same plan", "0.5000 [0.5000, 0.5000] (2)", "0.5000"}));
}

TEST(ReportFindings, MeasuredTimesAreHeldAgainstPredictedOnesAndEachOther) {
  std::vector<Json> records;
  for (std::int64_t block = 0; block < 15; ++block) {  // 1 s, and once 1.5 s, where 0.8 s were predicted
    records.push_back(process_of("w", "both", "joint", block, block == 3 ? 1.5 : 1.0));
    records.back()["predicted_s"] = 0.8;
  }
  records.push_back(process_of("w", "tight", "joint", 0, 3.0));
  records.back()["predicted_s"] = 4.0;
  records.push_back(process_of("v", "both", "region", 0, 2.0));
  std::string text = to_markdown(make_report(study_of("steadiness", records)));
  EXPECT_PRED2(contains, text, "| w | segment | 2 | 0.7500 | 1.2500 | 1 | 1.5000 | 1.5000 | 1.5000 |");
  EXPECT_PRED2(contains, text, "| v | segment | 1 | 1.0000 | 1.0000 | 0 | none | none | none |");
  EXPECT_PRED2(contains, text, "| all |  | 3 | 0.7500 | 1.2500 | 1 |");
}

TEST(ReportFindings, AnUnfinishedStudySaysSoFirst) {
  std::vector<Json> records = small_study();
  EXPECT_FALSE(contains(said_of("unknown", records), "UNFINISHED"));
  records[0]["tasks"] = {{"process", 9}, {"map", 3}};
  records.push_back(without_result(process_of("row_memory", "both", "retain+whole", 2, 1), "failed", "again"));
  records.back()["id"] = std::string(records.back()["id"]) + "#2";  // the same task, tried again
  std::string text = said_of("unfinished", records);
  std::string says = "The study is UNFINISHED: 8 of its 12 tasks have a record (map 0 of 3, process 8 of 9).";
  EXPECT_EQ(text.find(says), 0U) << text;
  records[0]["tasks"] = {{"process", 8}};
  EXPECT_FALSE(contains(said_of("finished", records), "UNFINISHED"));
  // A study that was begun before its first record told of tasks: the list in its folder does.
  records[0].erase("tasks");
  fs::path folder = study_of("findings_list", records);
  std::vector<study::Task> tasks(9);
  for (study::Task& task : tasks) task.kind = "process";
  write_text(folder / "tasks.json", study::tasks_to_json(tasks));
  EXPECT_PRED2(contains, said_in(make_report(folder)), "8 of its 9 tasks have a record (process 8 of 9).");
}

TEST(ReportFindings, PeaksAreHeldAgainstTheirPromise) {
  std::vector<Json> records = small_study();
  EXPECT_PRED2(contains, said_of("peaks", records), "the predicted one, to the byte, in all 6 measuring processes.");
  records[1]["measured_peak_bytes"] = 900;
  EXPECT_PRED2(contains, said_of("below", records), "in 5 of 6 measuring processes, and above it in none.");
  records[2]["measured_peak_bytes"] = 1100;
  EXPECT_PRED2(contains, said_of("above", records),
               "in 4 of 6 measuring processes, and ABOVE it in 1, by up to 100 B.");
}

TEST(ReportFindings, ATightBudgetThatIsNotTheTighterOneIsToldOf) {
  std::vector<Json> records = small_study();
  records[0]["budgets"] = {{"row_memory", {{"both", 1020}, {"tight", 1200}}}};
  records[0]["smallest_feasible"] = {{"row_memory", {{"segment", {{"region", 1400}, {"retain+whole", 1000}}}}}};
  EXPECT_PRED2(contains, said_of("tight", records), "is not below both, and region has no plan at either.");
  records[0]["budgets"]["row_memory"]["tight"] = 900;
  EXPECT_FALSE(contains(said_of("tighter", records), "has no plan at either"));
}

TEST(ReportFindings, TheMapSaysWhatIsGainedInTimeAndInMemory) {
  std::vector<Json> records{record_of("study", "study")};
  for (double share : {0.01, 1.0}) {  // with everything written joint is no faster, and region needs as much
    Json cell = record_of("map", fmt::format("map/4/{}", share));
    cell.update({{"table_ratio", 4.0}, {"written_share", share}, {"budget_bytes", 2000}});
    double joint = share < 1 ? 0.5 : 1;
    cell["predicted_s"] = {{"retain+whole", 1.0}, {"region", 1.0}, {"joint", joint}};
    cell["predicted_peak_bytes"] = {{"retain+whole", 1000}, {"region", 1000}, {"joint", 1000}};
    cell["smallest_feasible"] = {{"retain+whole", 1000}, {"region", share < 1 ? 250 : 1010}};
    records.push_back(std::move(cell));
  }
  std::string text = said_of("map", records);
  for (const char* part :
       {"of 2 planned cells, the joint plan gains most over retain+whole with a table 4 times as large as the "
        "activations of which 1 % is written: planned ratio 0.5000.",
        "In 1 cell the planned ratio is above 0.999", "down to 0.2500 of that of retain+whole, with a table 4 times",
        "Where all rows are written, the smallest budget of region is 1.0100 to 1.0100 of that of retain+whole."}) {
    EXPECT_PRED2(contains, text, std::string(part));
  }
}

TEST(ReportFindings, AControlThatEndedWithoutARunIsToldOf) {
  std::vector<Json> records = everything();
  for (Json& record : records) {
    if (record["id"] == "run/shift/unchecked/1") record = without_result(record, "failed", "the loss is not finite");
  }
  EXPECT_PRED2(contains, said_of("control", records), "The control `unchecked` has no run to compare.");
}

}  // namespace
}  // namespace reprise::report
