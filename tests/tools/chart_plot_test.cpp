// `reprise plot`: a picture of what a run logged, and clear words where there is none.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using namespace reprise::testing;  // NOLINT

/// An empty folder of this test.
fs::path folder_for(const std::string& name) { return process_folder("plot_" + name); }

fs::path run_with(const std::string& name, const std::string& metrics) {
  fs::path folder = folder_for(name);
  std::ofstream(folder / "metrics.jsonl", std::ios::binary) << metrics;
  return folder;
}

std::string lines(int count, bool accuracy) {
  std::ostringstream text;
  for (int i = 1; i <= count; ++i) {
    text << "{\"step\": " << 10 * i << ", \"epoch\": 1, \"loss\": " << (i == 5 ? "null" : std::to_string(4.0 / i));
    if (accuracy) text << ", \"accuracy\": " << 2 * i;
    text << ", \"lr\": 0.1, \"images_per_second\": 200.5, \"peak_bytes\": " << 170000000 + i << "}\n";
  }
  return text.str();
}

TEST(Plot, DrawsWhatTheRunLogged) {
  fs::path run = run_with("supervised", lines(20, true));
  Outcome outcome = reprise("plot " + shell_word(run.string()));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text, (run / "plot.svg").string() + "\n");
  std::string svg = file_text(run / "plot.svg");
  for (const char* title : {"Loss", "Training accuracy", "Learning rate", "Peak memory", "Images per second"}) {
    EXPECT_PRED2(contains, svg, std::string(">") + title + "</text>");
  }
  EXPECT_PRED2(contains, svg, "200 steps");
}

TEST(Plot, LeavesOutWhatTheModelDoesNotMeasure) {
  fs::path run = run_with("contrastive", lines(20, false));
  Outcome outcome = reprise("plot -o - " + shell_word(run.string()));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_PRED2(contains, outcome.text, "</svg>");
  EXPECT_FALSE(contains(outcome.text, "accuracy"));
  EXPECT_FALSE(fs::exists(run / "plot.svg"));
}

TEST(Plot, SeveralRunsGetAColourAndANameEach) {
  fs::path first = run_with("first", lines(20, true)), second = run_with("second", lines(9, true));
  std::string both = "plot " + shell_word(first.string()) + " " + shell_word(second.string() + "/");
  EXPECT_EQ(reprise(both).code, 2);  // where would it go?
  Outcome outcome = reprise(both + " -o -");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_PRED2(contains, outcome.text, ">plot_first</text>");
  EXPECT_PRED2(contains, outcome.text, ">plot_second</text>");
  EXPECT_EQ(outcome.text, reprise(both + " -o -").text);
}

TEST(Plot, RunsWhoseFoldersShareANameAreNamedByTheirPaths) {
  fs::path folder = folder_for("same_name");
  for (const char* parent : {"a", "b"}) {
    fs::create_directories(folder / parent / "run");
    std::ofstream(folder / parent / "run" / "metrics.jsonl", std::ios::binary) << lines(20, true);
  }
  Outcome outcome =
      run_shell("cd " + shell_word(folder.string()) + " && " + program_word() + " plot a/run b/run/ -o -");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_PRED2(contains, outcome.text, ">a/run</text>");
  EXPECT_PRED2(contains, outcome.text, ">b/run</text>");
  outcome = run_shell("cd " + shell_word((folder / "a/run").string()) + " && " + program_word() + " plot . -o -");
  EXPECT_PRED2(contains, outcome.text, "Run run");
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Plot, AMeasurementBetweenTwoLinesIsNoGapInThem) {
  std::string logged = lines(20, true), others;
  std::istringstream in(logged);
  for (std::string line; std::getline(in, line);)
    others += line + "\n" + line.substr(0, line.find(',')) + ", \"hash\": {}}\n";
  auto picture = [](const std::string& metrics) {
    return reprise("plot -o - " + shell_word(run_with("others", metrics).string())).text;
  };
  EXPECT_EQ(picture(others), picture(logged));
  // Measured now and then: still a line.
  std::string measured = logged;
  for (int step : {50, 100, 150, 200}) measured += "{\"step\": " + std::to_string(step) + ", \"knn\": 12.5}\n";
  const std::string line = " fill=\"none\" stroke=";  // nothing else in such a picture has no inside
  EXPECT_PRED2(contains, picture(measured), ">Nearest-neighbour accuracy</text>");
  EXPECT_EQ(occurrences(picture(measured), line), occurrences(picture(logged), line) + 1);
}

TEST(Plot, AnUnfinishedLastLineIsLeftOut) {
  fs::path run = run_with("torn", lines(3, true) + "{\"step\": 40, \"lo");
  Outcome outcome = reprise("plot -o - " + shell_word(run.string()));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_PRED2(contains, outcome.text, "30 steps");
}

TEST(Plot, SaysWhatIsMissing) {
  fs::path folder = folder_for("missing");
  Outcome nothing = reprise("plot " + shell_word((folder / "no").string()));
  EXPECT_EQ(nothing.code, 2);
  EXPECT_PRED2(contains, nothing.text, "it does not exist");
  Outcome no_metrics = reprise("plot " + shell_word(folder.string()));
  EXPECT_EQ(no_metrics.code, 2);
  EXPECT_PRED2(contains, no_metrics.text, "there is no metrics.jsonl in it");
  std::ofstream(folder / "metrics.jsonl").close();
  Outcome empty = reprise("plot " + shell_word(folder.string()));
  EXPECT_EQ(empty.code, 2);
  EXPECT_PRED2(contains, empty.text, "got none yet");
  std::ofstream(folder / "metrics.jsonl") << "{\"step\": 1}\n";
  Outcome no_values = reprise("plot " + shell_word(folder.string()));
  EXPECT_EQ(no_values.code, 2);
  EXPECT_PRED2(contains, no_values.text, "hold none of the values");
  std::ofstream(folder / "metrics.jsonl") << "{\"step\": 1, \"loss\": 2}\nnonsense\n{\"step\": 3}\n";
  Outcome broken = reprise("plot " + shell_word(folder.string()));
  EXPECT_EQ(broken.code, 1);
  EXPECT_PRED2(contains, broken.text, "metrics.jsonl:2: expected a JSON object");
}

}  // namespace
}  // namespace reprise
