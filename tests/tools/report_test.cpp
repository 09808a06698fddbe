// Reports: hand-computed tables, nothing left out, pages that stand alone and are well-formed, the same bytes twice.
#include "tools/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tests/support/errors.h"
#include "tests/support/program.h"
#include "tests/tools/report_records.h"

namespace reprise::report {
namespace {

namespace fs = std::filesystem;
using namespace reprise::testing;  // NOLINT

const Table& table_in(const Document& document, const std::string& begin) {
  static const Table kNone;
  for (const Block& block : document.blocks) {
    const Table* table = std::get_if<Table>(&block);
    if (table && table->caption.starts_with(begin)) return *table;
  }
  ADD_FAILURE() << "no table \"" << begin << "\"";
  return kNone;
}

std::vector<std::string> figures_of(const Document& document) {
  std::vector<std::string> names;
  for (const Block& block : document.blocks) {
    if (const Figure* figure = std::get_if<Figure>(&block)) names.push_back(figure->name);
  }
  return names;
}

std::vector<std::string> sections_of(const Document& document) {
  std::vector<std::string> names;
  for (const Block& block : document.blocks) {
    const Heading* heading = std::get_if<Heading>(&block);
    if (heading && heading->level == 2) names.push_back(heading->text);
  }
  return names;
}

/// The cell of the row whose first cells are `begin`, in the column of that name.
std::string cell(const Table& table, const std::vector<std::string>& begin, const std::string& column) {
  for (const std::vector<std::string>& row : table.rows) {
    if (!std::equal(begin.begin(), begin.end(), row.begin())) continue;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (table.columns[i].name == column) return row[i];
    }
  }
  return "no such cell";
}

/// The report of everything(), made once.
const Document& whole_report() {
  static const Document document = make_report(study_of("everything", everything()));
  return document;
}

TEST(Report, RatiosAreThoseComputedByHand) {
  std::vector<Json> records = small_study();
  records[2]["wall_s"] = {0.9, 9.0, 0.1, 0.2, 5.0};  // its median is 0.9: one slow step of a process changes nothing
  Document document = make_report(study_of("by_hand", records));
  const Table& ratios = table_in(document, "Step time of a method over that of another");
  ASSERT_EQ(ratios.rows.size(), 1U);
  std::vector<std::string> row{"both", "1 GiB", "joint", "retain+whole"};
  EXPECT_EQ(cell(ratios, row, "pairs"), "2");
  EXPECT_EQ(cell(ratios, row, "un-paired"), "2");   // joint's block 2, the reference's block 3
  EXPECT_EQ(cell(ratios, row, "ratio"), "0.8485");  // sqrt(0.8 * 0.9)
  EXPECT_EQ(cell(ratios, row, "range"), "[0.8000, 0.9000]");
  // log-t: exp(mean -+ t * s / sqrt(2)), one degree of freedom: t = tan(pi * 0.4875) = 25.4517, s / sqrt(2) = ln(0.9 /
  // 0.8) / 2
  double half = std::tan(std::acos(-1.0) * 0.4875) * std::log(0.9 / 0.8) / 2, mean = std::sqrt(0.72);
  EXPECT_EQ(cell(ratios, row, "log-t"), fmt::format("[{:.4f}, {:.4f}]", mean * std::exp(-half), mean * std::exp(half)));
}

TEST(Report, NoRecordIsLeftOut) {
  Document document = make_report(study_of("all_counted", small_study()));
  const Table& counts = table_in(document, "Records by kind");
  EXPECT_EQ(cell(counts, {"process"}, "ok"), "6");
  EXPECT_EQ(cell(counts, {"process"}, "failed"), "1");
  EXPECT_EQ(cell(counts, {"process"}, "infeasible, without a process"), "1");
  EXPECT_EQ(cell(counts, {"all"}, "all"), "9");
  const Table& failures = table_in(document, "Failures, every one");
  EXPECT_EQ(cell(failures, {"process/row_memory/both/segment/retain+whole/2"}, "error"), "ended by signal 9");
  EXPECT_EQ(cell(failures, {"process/row_memory/both/segment/retain+whole/2"}, "line"), "7");
  EXPECT_EQ(cell(table_in(document, "Where a method has no plan"), {"row_memory, both, segment, retain"}, "reason"),
            "needs 3 GiB");
  const Table& times = table_in(document, "Time of a step and memory");
  EXPECT_EQ(cell(times, {"both", "1 GiB", "retain"}, "processes"), "infeasible");
  EXPECT_EQ(cell(times, {"both", "1 GiB", "retain+whole"}, "failed"), "1");
}

TEST(Report, ARepeatedBlockIsToldOf) {
  std::vector<Json> records = small_study();
  records.push_back(process_of("row_memory", "both", "joint", 1, 0.1));
  records.back()["id"] = "again";
  std::string text = to_markdown(make_report(study_of("repeated", records)));
  EXPECT_PRED2(contains, text, "again: row_memory, both, segment, joint");
  EXPECT_PRED2(contains, text, "1 process repeats the block");
  EXPECT_PRED2(contains, text, "0.8485");  // the first of the two counts
}

TEST(Report, TargetsAreMetOrMissedByWhatIsSaid) {
  std::string text = to_markdown(make_report(study_of("missed", small_study())));
  EXPECT_PRED2(contains, text, "Target at most 0.80: MISSED by 0.0485.");
  std::vector<Json> records = small_study();
  records[2] = process_of("row_memory", "both", "joint", 1, 0.75);
  EXPECT_PRED2(contains, to_markdown(make_report(study_of("met", records))), "Target at most 0.80: met.");
  fs::path folder = study_of("targets", records);
  auto with = [&](const std::string& settings) {
    write_text(folder / "study.yaml", settings);
    return to_markdown(make_report(folder));
  };
  std::string others =
      with("seed: 1\ntargets:\n  workload: row_memory\n  joint_to_whole: 0.7\n  joint_to_region: 0.9\n");
  EXPECT_PRED2(contains, others, "Target at most 0.70: MISSED by 0.0746.");  // sqrt(0.8 * 0.75) - 0.7
  EXPECT_FALSE(
      contains(with("targets:\n  workload: \"\"\n  joint_to_whole: 0.7\nmap:\n  workload: row_memory\n"), "Target"));
}

TEST(Report, DifferentBytesAreShouted) {
  std::vector<Json> records = small_study();
  EXPECT_PRED2(contains, to_markdown(make_report(study_of("equal", records))),
               "byte-equal over all methods in all 6 measuring processes");
  records[3]["hash"]["state"] = "00000000000000dd";
  Document document = make_report(study_of("unequal", records));
  EXPECT_EQ(cell(table_in(document, "Different bytes"), {"workload row_memory"}, "state"), "2");
  EXPECT_EQ(cell(table_in(document, "Different bytes"), {"workload row_memory"}, "gradients"), "1");
  EXPECT_EQ(table_in(document, "Different bytes").marked.size(), 1U);
  EXPECT_PRED2(contains, to_markdown(document), "DIFFER between processes");
}

TEST(Report, RunsAreComparedEpochByEpoch) {
  const Document& document = whole_report();
  const Table& equal = table_in(document, "Epochs after which parameters");
  EXPECT_EQ(cell(equal, {"whole"}, "seed 2"), "reference, 4 epochs");
  EXPECT_EQ(cell(equal, {"joint"}, "seed 3"), "4 of 4 equal");
  EXPECT_EQ(cell(equal, {"unchecked (must differ)"}, "seed 1"), "1 of 4 equal, differs from epoch 2 on");
  const Table& peaks = table_in(document, "Allocated peak by method");
  EXPECT_EQ(cell(peaks, {"whole"}, "peak"), "66 MiB");
  EXPECT_EQ(cell(peaks, {"joint"}, "over whole"), "+45.45 %");  // 96 : 66
  EXPECT_EQ(cell(peaks, {"retain"}, "at its smallest budget"), "yes");
  std::string text = to_markdown(document);
  EXPECT_PRED2(contains, text, "18 runs compared with the reference of their seed, epoch by epoch: all byte-equal");
  EXPECT_PRED2(contains, text, "differs from epoch 2 on, as it must");
}

TEST(Report, ARunThatDiffersAndAControlThatDoesNotAreShouted) {
  std::vector<Json> records = everything();
  for (Json& record : records) {
    if (record["id"] == "run/shift/region/2") record["epochs"][3]["hash"]["predictions"] = "0";
    if (record["kind"] == "run") record["hash"] = {{"predictions", record["id"] == "run/shift/joint/3" ? "1" : "2"}};
    if (record["id"] == "run/ring/unchecked/1") record["epochs"] = Json::array();
    if (record["id"] == "run/shift/unchecked/1") {
      for (const Json& other : records) {
        if (other["id"] == "run/shift/whole/1") record["epochs"] = other["epochs"];
      }
    }
  }
  Document document = make_report(study_of("differs", records));
  EXPECT_EQ(cell(table_in(document, "Epochs after which parameters"), {"region"}, "seed 2"),
            "3 of 4 equal, differs from epoch 4 on");
  EXPECT_EQ(cell(table_in(document, "Epochs after which parameters"), {"joint"}, "seed 3"),
            "4 of 4 equal, differs at the end");
  EXPECT_EQ(table_in(document, "Epochs after which parameters").marked.size(), 2U);
  std::string text = to_markdown(document);
  EXPECT_PRED2(contains, text, "NOT all byte-equal");
  EXPECT_PRED2(contains, text, "does NOT differ, although it must");
}

TEST(Report, ARunThatIsMissingIsToldOf) {
  EXPECT_FALSE(contains(to_markdown(whole_report()), "missing there"));
  std::vector<Json> records = everything();
  std::erase_if(records, [](const Json& record) { return record["id"] == "run/shift/region/2"; });
  for (Json& record : records) {
    if (record["id"] == "run/shift/joint/3") record = without_result(record, "failed", "killed");
  }
  EXPECT_PRED2(contains, to_markdown(make_report(study_of("missing", records))),
               "16 runs compared with the reference of their seed, epoch by epoch: all byte-equal (parameters, state, "
               "test predictions). The control");
  EXPECT_PRED2(contains, to_markdown(make_report(study_of("missing", records))),
               "2 runs are missing there, so not compared.");
}

TEST(Report, TimeAgainstWholeIsBySeed) {
  std::vector<Json> records{record_of("study", "study")};
  double joint[2][2] = {{1.1, 1.3}, {0.9, 0.9}};
  for (int seed = 0; seed < 2; ++seed) {
    for (int block = 0; block < 2; ++block) {
      for (const char* method : {"joint", "whole"}) {
        Json record = process_of("", "", method, block, method[0] == 'j' ? joint[seed][block] : 1);
        record["kind"] = "timing";
        record["id"] = fmt::format("timing/{}/{}/{}", method, seed, block);
        record["layout"] = "shift";
        record["seed"] = seed;
        record["cpu_s"] = {method[0] == 'j' ? 0.5 + seed : 0.25 + 0.5 * seed};
        records.push_back(record);
      }
    }
  }
  Document document = make_report(study_of("timing", records));
  EXPECT_EQ(cell(table_in(document, "Step time over that of whole"), {"joint"}, "seed 0"), "1.1958 (2)");  // sqrt(1.43)
  const Table& all = table_in(document, "Over seeds");
  EXPECT_EQ(cell(all, {"joint"}, "ratio"), "1.0374");  // sqrt(1.1958 * 0.9)
  EXPECT_EQ(cell(all, {"joint"}, "CPU time"), "2.0000");
  EXPECT_EQ(cell(all, {"joint"}, "range of seeds"), "[0.9000, 1.1958]");
  EXPECT_EQ(cell(all, {"joint"}, "pairs"), "4");
}

TEST(Report, TheMapHasItsMeasuredCellsAndHatchesWhatHasNoPlan) {
  const Document& document = whole_report();
  const Table& measured = table_in(document, "Measured cells");
  EXPECT_EQ(measured.rows.size(), 32U);  // 16 cells against two methods
  EXPECT_EQ(cell(measured, {"1", "0.1 %", "200 MiB", "retain+whole"}, "joint, predicted"),
            "0.7363");  // 0.92005 * 1.0004 / 1.25
  std::string text = to_markdown(document);
  EXPECT_PRED2(contains, text, "48 cells planned, 16 of them measured, 1 cell without plans.");
}

TEST(Report, WhatWasPredictedIsDrawnBesideEveryMeasuredTime) {
  for (const Block& block : whole_report().blocks) {
    const Figure* figure = std::get_if<Figure>(&block);
    if (figure == nullptr || !figure->name.starts_with("times-")) continue;
    std::size_t shapes = 0, marks = 0;
    for (std::size_t at = 0; (at = figure->svg.find("<title>", at)) != std::string::npos; ++at) ++shapes;
    for (std::size_t at = 0; (at = figure->svg.find("stroke-width=\"2.6\"", at)) != std::string::npos; ++at) ++marks;
    EXPECT_GT(marks, 6U) << figure->name;
    EXPECT_EQ(marks + 1, shapes) << figure->name << ": the picture and each of its shapes has a title";
  }
}

TEST(Report, MemoryOverAStepIsSummedAtItsPeak) {
  fs::path folder = study_of("memory", small_study());
  fs::remove_all(folder / "extra");
  fs::create_directories(folder / "extra");
  write_text(
      folder / "extra/a.json",
      R"({"workload": "m", "method": "joint", "budget_bytes": 2048, "categories": {"state": [1024, 1024, 0], "activations": [0, 512, 1024]}})");
  write_text(
      folder / "extra/b.json",
      R"({"title": "m, batch 1, method whole, 3 segments marked", "memory": {"predicted": {"before": {"state": 64, "data": 0}, "delta": [64, -64], "category": ["state", "state"]}}})");
  Document document = make_report(folder);
  const Table& peaks = table_in(document, "Live bytes at the peak");
  EXPECT_EQ(cell(peaks, {"joint"}, "peak"), "1.50 KiB");
  EXPECT_EQ(cell(peaks, {"joint"}, "activations"), "512 B");
  EXPECT_PRED2(contains, to_markdown(document),
               "Not drawn, since nothing was traced: retain, region, retain+whole, retain+region, whole+region.");
  EXPECT_FALSE(contains(to_markdown(whole_report()), "Not drawn"));
  EXPECT_EQ(cell(peaks, {"whole"}, "peak"), "128 B");
  EXPECT_EQ(peaks.columns.size(), 5U);  // nothing was ever in `data`
  for (const char* bad :
       {"[]", "{", R"({"method": "joint"})", R"({"method": "joint", "memory": {"predicted": 3}})",
        R"({"method": "joint", "categories": {"a": [1, 2], "b": [1]}})",
        R"({"method": "joint", "categories": {"a": ["x"]}})",
        R"({"method": "joint", "memory": {"predicted": {"before": {}, "delta": [1], "category": ["state"]}}})"}) {
    write_text(folder / "extra/b.json", bad);
    SCOPED_TRACE(bad);
    testing::expect_error(ErrorKind::user, {"[report] ", "b.json"}, [&] { make_report(folder); });
  }
}

TEST(Report, KindsThatAreMissingAreMissingSections) {
  fs::path folder = study_of("few", small_study());
  fs::remove_all(folder / "extra");
  EXPECT_EQ(sections_of(make_report(folder)),
            (std::vector<std::string>{"What it shows", "What was run", "Equal bytes", "Workloads"}));
  EXPECT_EQ(sections_of(whole_report()).size(), 8U);
}

TEST(Report, WithoutARecordThereIsNone) {
  fs::path folder = report_folder("empty"), file = folder / "records.jsonl";
  for (const auto& [text, got] : std::vector<std::pair<std::string, std::string>>{
           {"", "an empty file"}, {"{\"schema\"", "one line without an end"}}) {
    write_text(file, text);
    for (const fs::path& path : {folder, file})
      EXPECT_PRED2(contains, user_error([&] { make_report(path); }), "expected at least one record, got " + got);
  }
}

TEST(Report, VerdictsOfACohortAreCounted) {
  Document document = make_report(cohort_of("cohort"));
  const Table& counts = table_in(document, "Verdicts by mode");
  EXPECT_EQ(cell(counts, {"torch_nonreentrant"}, "silent"), "1");
  EXPECT_EQ(cell(counts, {"reprise_region"}, "match"), "3");
  EXPECT_EQ(cell(counts, {"reprise_region"}, "all"), "4");
  EXPECT_EQ(cell(table_in(document, "Verdicts by class"), {"C05"}, "torch_nonreentrant"), "1/1/0/0");
  EXPECT_EQ(figures_of(document), (std::vector<std::string>{"cohort-diverged", "cohort-match"}));
  std::string text = to_markdown(document);
  EXPECT_PRED2(contains, text,
               "PyTorch: 4 records in 1 mode: 2 diverged: 1 with a silent wrong gradient, 1 with wrong state or "
               "effects; 1 refused needlessly, 0 crashes.");
  EXPECT_PRED2(contains, text, "Reprise: 4 records in 1 mode: no divergence; 0 refused needlessly");
}

}  // namespace
}  // namespace reprise::report
