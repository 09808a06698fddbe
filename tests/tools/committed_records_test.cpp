// What is committed of the studies: every record is read and none says that Reprise was wrong, the committed reports
// are those of the records, and the tables of the README say what the records say.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"
#include "tools/cohort_view/cohort.h"
#include "tools/report/report.h"

namespace reprise::report {
namespace {

namespace fs = std::filesystem;
using reprise::testing::contains;
using reprise::testing::file_text;

using Row = std::vector<std::string>;

const std::string kStudies = REPRISE_SOURCE_DIR "/configs/studies/";

/// The report of committed records, made once.
const Document& report_of(const std::string& name) {
  static std::map<std::string, Document> all;
  auto found = all.find(name);
  if (found == all.end()) found = all.emplace(name, make_report(kStudies + "records/" + name)).first;
  return found->second;
}

std::string trimmed_cell(const std::string& text) {
  std::size_t begin = text.find_first_not_of(" `"), end = text.find_last_not_of(" `");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

/// The rows of the README's table whose first line begins so, without that line and the one below it.
std::vector<Row> readme_rows(const std::string& head) {
  std::istringstream text(file_text(REPRISE_SOURCE_DIR "/README.md"));
  std::vector<Row> rows;
  std::string line;
  while (std::getline(text, line) && !line.starts_with(head)) {
  }
  std::getline(text, line);
  while (std::getline(text, line) && line.starts_with("|")) {
    std::istringstream cells(line.substr(1));
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '|');) rows.back().push_back(trimmed_cell(cell));
  }
  EXPECT_FALSE(rows.empty()) << head;
  return rows;
}

/// All numbers in a text.
std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    double number = std::isdigit(static_cast<unsigned char>(*at)) ? std::strtod(at, &end) : 0;
    if (end == nullptr) {
      ++at;
      continue;
    }
    numbers.push_back(number);
    at = end;
  }
  return numbers;
}

/// The README rounds what the report says.
void expect_rounded(const std::string& said, const std::string& found, double half, const std::string& where) {
  std::vector<double> a = numbers_in(said), b = numbers_in(found);
  ASSERT_EQ(a.size(), b.size()) << where << ": " << said << " for " << found;
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], half) << where << ": " << said << " for " << found;
}

/// A table of a report below a heading; empty where there is none.
Table table_below(const Document& document, const std::string& heading, const std::string& caption) {
  std::string at;
  for (const Block& block : document.blocks) {
    if (const Heading* found = std::get_if<Heading>(&block)) at = found->text;
    const Table* table = std::get_if<Table>(&block);
    if (table && at == heading && table->caption.starts_with(caption)) return *table;
  }
  return {};
}

std::string cell_of(const Table& table, const Row& row, const std::string& column) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (table.columns[i].name == column) return row[i];
  }
  return "no column " + column;
}

/// "663 MiB" and "662.7 MiB" are the same budget.
bool is_rounded(const std::string& said, const std::string& bytes) {
  std::vector<double> a = numbers_in(said), b = numbers_in(bytes);
  return a.size() == 1 && b.size() == 1 && std::abs(a[0] - b[0]) <= 0.5 &&
         said.substr(said.rfind(' ')) == bytes.substr(bytes.rfind(' '));
}

/// joint over `reference` at that budget, as the report has it; empty where it is in no row.
Row joint_over(const Table& table, const std::string& budget, const std::string& reference) {
  for (const Row& row : table.rows) {
    if (cell_of(table, row, "method") == "joint" && cell_of(table, row, "over") == reference &&
        is_rounded(budget, cell_of(table, row, "bytes")))
      return row;
  }
  return {};
}

TEST(CommittedRecords, AreAtTheirEndWithEqualBytesInAllProcesses) {
  for (const char* name : {"sparse_write.jsonl.xz", "cifar100_dense_queue.jsonl.xz"}) {
    std::string text = to_markdown(report_of(name));
    EXPECT_PRED2(contains, text, "byte-equal over all methods in all ") << name;
    for (const char* word : {"UNFINISHED", "NOT EQUAL", "DIFFER", "ABOVE", "does NOT", "NOT all", "missing there"})
      EXPECT_FALSE(contains(text, word)) << name << ": " << word;
  }
}

TEST(CommittedRecords, HoldMemoryOverAStepOfAllSevenMethods) {
  for (const char* name : {"sparse_write.jsonl.xz", "cifar100_dense_queue.jsonl.xz"}) {
    std::string text = to_markdown(report_of(name));
    EXPECT_PRED2(contains, text, "## Memory over a step") << name;
    EXPECT_FALSE(contains(text, "Not drawn")) << name;
  }
}

TEST(CommittedRecords, OfTheCohortAreWholeAndReprisesAreRight) {
  cohort::Cohort cohort = cohort::read_cohort(kStudies + "records/cohort");
  std::size_t records = 0, ours = 0;
  for (const cohort::Mode& mode : cohort.modes) {
    records += mode.records.size();
    if (mode.framework != "Reprise") continue;
    ++ours;
    for (const cohort::Record& record : mode.records)
      EXPECT_TRUE(cohort::is_right(record.verdict)) << record.id << ": " << record.verdict << ", " << record.detail;
  }
  EXPECT_GE(records, 5900U);
  EXPECT_EQ(ours, 4U);
}

TEST(CommittedRecords, TheReadmesRatiosOfSparseWritesAreThose) {
  for (const Row& row : readme_rows("| workload | budget |")) {
    ASSERT_EQ(row.size(), 6U);
    Table table = table_below(report_of("sparse_write.jsonl.xz"), row[0] + ", granularity segment",
                              "Step time of a method over that of another");
    ASSERT_FALSE(table.rows.empty()) << row[0];
    std::size_t at = 2;
    for (const std::string reference : {"retain+whole", "region"}) {
      std::string said = row[at], predicted = row[at + 1], where = row[0] + ", " + row[1] + ", over " + reference;
      at += 2;
      Row found = joint_over(table, row[1], reference);
      if (said == "has no plan") {
        EXPECT_TRUE(found.empty()) << where;
        continue;
      }
      ASSERT_FALSE(found.empty()) << where;
      expect_rounded(said, cell_of(table, found, "ratio") + " " + cell_of(table, found, "bootstrap"), 0.00056, where);
      std::string planned = cell_of(table, found, "predicted");
      expect_rounded(predicted, planned, 0.00056, where);
      EXPECT_EQ(contains(predicted, "same plan"), contains(planned, "same plan")) << where;
    }
  }
}

TEST(CommittedRecords, TheReadmesTimesOfTheApplicationAreThose) {
  Table table = table_below(report_of("cifar100_dense_queue.jsonl.xz"), "layout shift", "Over seeds");
  std::vector<Row> rows = readme_rows("| method | over `whole` |");
  EXPECT_EQ(rows.size(), table.rows.size());
  for (const Row& row : rows) {
    ASSERT_EQ(row.size(), 4U);
    auto found = std::find_if(table.rows.begin(), table.rows.end(), [&](const Row& r) { return r[0] == row[0]; });
    ASSERT_NE(found, table.rows.end()) << row[0];
    expect_rounded(row[1], cell_of(table, *found, "ratio") + " " + cell_of(table, *found, "bootstrap"), 1e-9, row[0]);
    expect_rounded(row[2], cell_of(table, *found, "range of seeds"), 1e-9, row[0]);
    expect_rounded(row[3], cell_of(table, *found, "predicted"), 1e-9, row[0]);
  }
}

/// The row of what is measured over what was predicted, rounded as in the README.
Row steadiness_of(const std::string& name, const std::string& of, const std::string& granularity) {
  Table table = table_below(report_of(name), "How steady, and how well predicted", "Medians of measured");
  for (const Row& row : table.rows) {
    if (row[0] != of || row[1] != granularity) continue;
    Row rounded;
    for (std::size_t i = 2; i < row.size(); ++i) rounded.push_back(fmt::format("{:.2f}", std::atof(row[i].c_str())));
    return rounded;
  }
  ADD_FAILURE() << "no row of " << of << " in the report of " << name;
  return Row(7);
}

TEST(CommittedRecords, TheReadmeSaysHowSteadyAndHowWellPredictedTheyAre) {
  std::string text;
  for (char c : file_text(REPRISE_SOURCE_DIR "/README.md")) {
    if (c != '\n' || !text.ends_with('\n')) text += c;
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (const char* workload : {"row_memory", "graph_memory", "slot_cache", "product_key_memory"}) {
    Row row = steadiness_of("sparse_write.jsonl.xz", workload, "segment");
    EXPECT_PRED2(contains, text, fmt::format("`{}` {} to {}", workload, row[1], row[2]));
  }
  Row all = steadiness_of("sparse_write.jsonl.xz", "all", "");
  EXPECT_PRED2(contains, text,
               fmt::format("took {} to {} times as long as the fastest, {} in the middle", all[4], all[6], all[5]));
  Row application = steadiness_of("cifar100_dense_queue.jsonl.xz", "shift", "segment");
  EXPECT_PRED2(contains, text,
               fmt::format("Measured step times were {} to {} of the predicted ones", application[1], application[2]));
}

/// "145 of 636 | 356 | 64": right, a wrong gradient, wrong state.
TEST(CommittedRecords, TheReadmesVerdictsOfTheCohortAreThose) {
  Json modes = cohort::summary(cohort::read_cohort(kStudies + "records/cohort"))["modes"];
  struct Line {
    const char* begin;
    std::vector<const char*> modes;
  };
  std::vector<Row> rows = readme_rows("| mode | right |");
  for (const Line& line : std::vector<Line>{{"Reprise, replaying by", {"reprise_whole", "reprise_region"}},
                                            {"PyTorch 2.15 checkpoint, non-reentrant", {"torch_nonreentrant"}},
                                            {"PyTorch 2.15 checkpoint, reentrant", {"torch_reentrant"}},
                                            {"JAX 0.10 `checkpoint`, state as values", {"jax_values"}},
                                            {"JAX 0.10 `checkpoint`, external `Ref`s", {"jax_ref"}}}) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r[0].starts_with(line.begin); });
    ASSERT_NE(row, rows.end()) << line.begin;
    for (const char* mode : line.modes) {
      const Json& verdicts = modes[mode]["verdicts"];
      auto of = [&](const char* verdict) { return verdicts.value(verdict, std::int64_t{0}); };
      std::int64_t right = of("match") + of("reject_allowed");
      std::vector<double> said = numbers_in((*row)[1]);
      EXPECT_EQ(contains((*row)[1], "refused") ? said.at(0) + said.at(1) : said.at(0), static_cast<double>(right))
          << mode;
      EXPECT_EQ((*row)[2], std::to_string(of("silent"))) << mode;
      EXPECT_EQ((*row)[3], std::to_string(of("state"))) << mode;
    }
  }
}

/// "23.9 % (22 wanted), untrained encoder 13.2 %" of what the summaries of both runs say.
TEST(CommittedRecords, TheReadmesAccuraciesAreThoseOfTheSummaries) {
  std::vector<Row> rows = readme_rows("| command | top-1 here |");
  ASSERT_EQ(rows.size(), 2U);
  Json supervised = Json::parse(file_text(kStudies + "records/learning/supervised.json"));
  Json contrastive = Json::parse(file_text(kStudies + "records/learning/contrastive.json"));
  auto percent = [](const Json& of) { return fmt::format("{:.1f} %", of["top1"].get<double>()); };
  EXPECT_TRUE(rows[0][1].starts_with(percent(supervised["test"]))) << rows[0][1];
  EXPECT_TRUE(rows[1][1].starts_with(percent(contrastive["probe"]))) << rows[1][1];
  EXPECT_TRUE(rows[1][1].ends_with(percent(contrastive["probe"]["untrained"]))) << rows[1][1];
}

/// The ratio to the peer of one row of one bench, at so many threads; turned round where more is better.
double bench_ratio(const std::string& bench, bool resnet18, int threads, const std::string& what) {
  std::string at, wanted = "bench " + bench + " --threads " + std::to_string(threads);
  for (const Block& block : report_of("bench.jsonl.xz").blocks) {
    if (const Heading* found = std::get_if<Heading>(&block)) at = found->text;
    const Table* table = std::get_if<Table>(&block);
    if (!table || !at.starts_with(wanted) || contains(at, "resnet18") != resnet18) continue;
    for (const Row& row : table->rows) {
      if (row[0] != what) continue;
      double ratio = std::atof(cell_of(*table, row, "ours : peer").c_str());
      return contains(cell_of(*table, row, "wanted"), " times ") ? 1 / ratio : ratio;
    }
  }
  ADD_FAILURE() << "no row '" << what << "' of " << wanted;
  return 0;
}

TEST(CommittedRecords, TheReadmesRatiosToThePeerAreThoseOfTheBenches) {
  struct Line {
    const char* begin;
    const char* bench;
    std::vector<const char*> whats;
  };
  const std::vector<Line> lines = {
      {"dense-queue step, `small`, batch 128, channels-last, time", "step", {"without recompute, wall"}},
      {"the same, memory", "step", {"without recompute, high-water mark"}},
      {"the same, time, beside the compiled peer", "step", {"without recompute, wall, beside the compiled peer"}},
      {"dense-queue step, `resnet18`", "step", {"without recompute, wall", "without recompute, high-water mark"}},
      {"softmax cross-entropy", "ops", {"cross_entropy 128x65537 forward and backward"}},
      {"batch norm + relu", "ops", {"bn+relu 64@32 b64 forward and backward"}},
      {"dropout", "ops", {"dropout 2048x2048 p0.1 forward and backward"}},
      {"chain of 1,000 tiny ops, forward", "ops", {"chain of 1,000 tiny ops, forward per op"}},
      {"the same, backward", "ops", {"chain of 1,000 tiny ops, backward per op"}},
      {"SGD with momentum",
       "optim",
       {"SGD momentum, 11.5M parameters", "AdamW, 11.5M parameters", "EMA, 11.5M parameters"}},
      {"contrastive augmentation", "loader", {"contrastive (resized crop, flip, jitter, gray)"}},
      {"start to end",
       "startup",
       {"first step of a linear classifier, time", "first step of a linear classifier, memory"}}};
  std::vector<Row> rows = readme_rows("| what | command | 1 thread |");
  ASSERT_EQ(rows.size(), lines.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(rows[i][0].starts_with(lines[i].begin)) << rows[i][0];
    for (int threads : {1, 2}) {
      const std::string& cell = rows[i][static_cast<std::size_t>(threads) + 1];
      if (cell.empty()) continue;
      std::vector<double> said = numbers_in(cell);
      ASSERT_GE(said.size(), lines[i].whats.size()) << cell;
      for (std::size_t k = 0; k < lines[i].whats.size(); ++k)
        EXPECT_NEAR(said[k], bench_ratio(lines[i].bench, contains(rows[i][0], "resnet18"), threads, lines[i].whats[k]),
                    0.0055)
            << rows[i][0];
    }
  }
}

/// The last digit of a picture's coordinates follows from how a build does its arithmetic.
TEST(CommittedReports, AreThoseOfTheCommittedRecords) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "reports are compared in the plain build";
#endif
  testing::TempFolder folder;
  for (const auto& [records, report] : {std::pair{"sparse_write.jsonl.xz", "sparse_write"},
                                        {"cifar100_dense_queue.jsonl.xz", "cifar100_dense_queue"},
                                        {"bench.jsonl.xz", "bench"},
                                        {"cohort", "report"}}) {
    testing::Outcome outcome = testing::run_shell(
        "cd " + testing::shell_word(REPRISE_SOURCE_DIR) + " && " + testing::program_word() +
        " report configs/studies/records/" + records + " -o " + testing::shell_word(folder.path().string()) + " 2>&1");
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    std::string committed = std::string(report) == "report" ? "cohort" : report;
    EXPECT_TRUE(file_text(folder / (std::string(report) + ".html")) ==
                file_text(kStudies + "reports/" + committed + ".html"))
        << "configs/studies/reports/" << committed
        << ".html is not what the records and this program give: RECORDS.md says how it is made anew";
  }
}

}  // namespace
}  // namespace reprise::report
