// `reprise bench`: every bench runs, writes its figures, and says clearly what a peer lacks; the statistics behind it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"
#include "tools/bench/record.h"
#include "tools/bench/replay_costs.h"
#include "tools/bench/report.h"

namespace reprise::bench {
namespace {

using testing::Outcome;
using testing::TempFolder;

Outcome reprise_bench(const std::string& arguments) { return testing::reprise("bench " + arguments); }

std::string in(const TempFolder& folder, const std::string& name) { return (folder / name).string(); }

class EveryBench : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryBench, RunsAndWritesFiguresAboveZero) {
  TempFolder folder;
  Outcome outcome = reprise_bench(std::string(GetParam()) + " --quick --json '" + in(folder, "out.json") + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("2 rounds"), std::string::npos) << outcome.text;
  std::ifstream file(in(folder, "out.json"));
  Json report = Json::parse(file);
  ASSERT_FALSE(report["rows"].empty());
  for (const Json& row : report["rows"]) {
    const Json& ours = row["ours"];
    ASSERT_TRUE(ours["median"].is_number()) << row.dump();
    EXPECT_LE(ours["min"].get<double>(), ours["median"].get<double>()) << row.dump();
    EXPECT_LE(ours["median"].get<double>(), ours["max"].get<double>()) << row.dump();
    EXPECT_NE(outcome.text.find(row["what"].get<std::string>()), std::string::npos) << row.dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Bench, EveryBench,
                         ::testing::Values("ops", "step", "replay", "optim", "loader", "startup", "planner"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Bench, ReplayedBlocksOfResnet18HoldFewActivationsAndCotangents) {
  BenchOptions options;
  options.batch = 4;
  HighestBytes retain = resnet18_values(options, "retain"), whole = resnet18_values(options, "whole");
  ASSERT_GT(retain.activations, 0);
  EXPECT_GE(retain.with_cotangents, retain.activations);
  EXPECT_LE(static_cast<double>(whole.activations), 0.40 * static_cast<double>(retain.activations));
  EXPECT_LE(static_cast<double>(whole.with_cotangents), 0.46 * static_cast<double>(retain.with_cotangents));
}

/// What the bench says of one public instance with `text` in it; `more`: other words of the command.
Outcome bench_instance(const std::string& name, const std::string& text, const std::string& published = "",
                       const std::string& more = "") {
  TempFolder folder;
  std::filesystem::path file = folder / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
  if (!published.empty()) std::ofstream(file.parent_path() / "published_solutions.json") << published;
  EXPECT_EQ(testing::run_shell("gzip -f '" + file.string() + "'").code, 0);
  return reprise_bench("planner --instances '" + folder.path().string() + "'" + more);
}

Json good_trace() {
  return Json::parse(R"({"model": "toy", "storage_bytes": [100, 100, 100], "ops": [
    {"op": "constant", "t_ns": 0, "bwd": false, "read": [], "write": [], "alloc": [0], "free": []},
    {"op": "a", "t_ns": 10, "bwd": false, "read": [[0, 0]], "write": [], "alloc": [1], "free": []},
    {"op": "#BACKWARD", "t_ns": 0, "bwd": true, "read": [], "write": [], "alloc": [], "free": []},
    {"op": "b", "t_ns": 10, "bwd": true, "read": [[1, 0]], "write": [], "alloc": [2], "free": [1, 2]}]})");
}

Json good_graph() {
  return Json::parse(R"({"mode": "toy", "nodes": [
    {"kind": "FwdNode", "mem": 100, "args": [], "workspace_compute": [1.0]},
    {"kind": "FwdNode", "mem": 100, "args": [[0]], "workspace_compute": [-1000.0, 1.0]},
    {"kind": "BwdNode", "mem": 50, "args": [[1], [0]], "workspace_compute": [1.0]}]})");
}

struct Change {
  const char* pointer;
  const char* value;
  const char* says;
};

TEST(Bench, MalformedTracesAreRefusedWithTheirPlace) {
  const std::string name = "dtr/x.ops.json";
  EXPECT_EQ(bench_instance(name, good_trace().dump()).code, 0);
  for (const Change& change : std::vector<Change>{
           {"/ops/1/read/0/0", "999999", "x.ops.json.gz, ops[1].read[0][0]: expected a whole number from 0 to 2"},
           {"/ops/1/read/0/0", "-5", "ops[1].read[0][0]: "},
           {"/ops/1/read/0/0", "1099511627777", "ops[1].read[0][0]: "},
           {"/ops/1/read/0", "[1]", "ops[1].read[0]: expected a storage and its version, got 1 items"},
           {"/ops/1/read", "{}", "ops[1].read: expected a list"},
           {"/ops/1/write/0", "[777777, 1]", "ops[1].write[0][0]: "},
           {"/ops/1/alloc/0", "50000000", "ops[1].alloc[0]: "},
           {"/ops/3/free/0", "3", "ops[3].free[0]: "},
           {"/ops/1/t_ns", "-5", "ops[1].t_ns: "},
           {"/storage_bytes/1", "1.5", "storage_bytes[1]: expected a whole number"},
           {"/storage_bytes/1", "-5", "storage_bytes[1]: "},
           {"/ops/0/read/0", "[2, 0]", "ops[0]: expected storage 2 to be made once, before it is used"},
           {"/ops/3/alloc/0", "1",
            "ops[3]: expected storage 1 to be made once, before it is used; it is made again"}}) {
    Json json = good_trace();
    json[Json::json_pointer(change.pointer)] = Json::parse(change.value);
    expect_refused(bench_instance(name, json.dump()), change.says);
  }
}

TEST(Bench, MalformedGraphsAndPublishedPlansAreRefusedWithTheirPlace) {
  const std::string name = "monet/x.json";
  const char* plans = R"([{"instance": "x", "budget_gb": 1, "runtime_expected": 300, "solve_time": -1}])";
  EXPECT_EQ(bench_instance(name, good_graph().dump(), plans).code, 0);
  for (const Change& change : std::vector<Change>{
           {"/nodes/1/args/0/0", "100000", "x.json.gz, nodes[1].args[0][0]: "},
           {"/nodes/1/args/0/0", "-1", "nodes[1].args[0][0]: "},
           {"/nodes/1/args/0/0", "1", "nodes[1].args[0][0]: "},
           {"/nodes/0/args/0", "[0]", "nodes[0].args[0][0]: expected nothing"},
           {"/nodes/1/mem", "-10", "nodes[1].mem: "},
           {"/nodes/1/workspace_compute", "[1e300]", "nodes[1].workspace_compute[0]: "},
           {"/nodes/1/workspace_compute", "{\"a\": 1}", "nodes[1].workspace_compute: expected a list"}}) {
    Json json = good_graph();
    json[Json::json_pointer(change.pointer)] = Json::parse(change.value);
    expect_refused(bench_instance(name, json.dump()), change.says);
  }
  for (auto [text, says] : std::vector<std::pair<const char*, const char*>>{
           {"{{{", "expected JSON in "},
           {"{\"a\": 1}", "expected a list"},
           {R"([{"instance": "x"}])", "[0]: expected the key 'budget_gb'"},
           {R"([{"instance": "x", "budget_gb": null}])", "[0].budget_gb: expected a number"}}) {
    expect_refused(bench_instance(name, good_graph().dump(), text), says);
  }
}

TEST(Bench, AnInstanceWithoutAPlanIsARowThatCanBeKept) {
  TempFolder folder;
  std::string kept = in(folder, "kept.jsonl");
  const char* plans = R"([{"instance": "x", "budget_gb": 1e-9, "runtime_expected": 300, "solve_time": -1}])";
  for (std::size_t calls = 1; calls <= 2; ++calls) {
    Outcome outcome = bench_instance("monet/x.json", good_graph().dump(), plans, " --record '" + kept + "'");
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_NE(outcome.text.find("no plan"), std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find("nan"), std::string::npos) << outcome.text;
    std::vector<Json> records = parse_records(testing::file_text(kept), kept);
    ASSERT_EQ(records.size(), calls);
    EXPECT_TRUE(records.back()["rows"][0]["ours"]["samples"].empty());
  }
  EXPECT_EQ(testing::reprise("report '" + kept + "' -o '" + in(folder, "out") + "'").code, 0);
}

TEST(Bench, ReplayingBlocksShowsInTheLivePeak) {
  TempFolder folder;
  Outcome outcome = reprise_bench("step --quick --batch 16 --json '" + in(folder, "out.json") + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::ifstream file(in(folder, "out.json"));
  bool seen = false;
  Json report = Json::parse(file);
  for (const Json& row : report["rows"]) {
    if (row["what"] != "replayed / without, live peak") continue;
    seen = true;
    EXPECT_LT(row["ours"]["median"].get<double>(), 0.95);
    EXPECT_EQ(row["target"], "0.60");
  }
  EXPECT_TRUE(seen);
}

TEST(Bench, AMistakeExitsTwoAndNamesWhatIsMissing) {
  EXPECT_EQ(reprise_bench("").code, 2);
  Outcome unknown = reprise_bench("speed");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.text.find("expected ops, step, replay, optim, loader, startup or planner"), std::string::npos)
      << unknown.text;
  Outcome scripts = reprise_bench("ops --quick --peer python3 --peers /nonexistent");
  EXPECT_EQ(scripts.code, 2);
  EXPECT_NE(scripts.text.find("/nonexistent/ops.py"), std::string::npos) << scripts.text;
  TempFolder folder;
  std::ofstream(in(folder, "loader.py")) << "print('{}')\n";
  Outcome python = reprise_bench("loader --quick --peer /nonexistent/python --peers '" + folder.path().string() + "'");
  EXPECT_EQ(python.code, 2);
  EXPECT_NE(python.text.find("/nonexistent/python"), std::string::npos) << python.text;
  std::ofstream(in(folder, "broken")) << "#!/bin/sh\necho no torch here >&2\nexit 1\n";
  std::filesystem::permissions(in(folder, "broken"), std::filesystem::perms::owner_all);
  Outcome torch =
      reprise_bench("loader --quick --peer '" + in(folder, "broken") + "' --peers '" + folder.path().string() + "'");
  EXPECT_EQ(torch.code, 2);
  EXPECT_NE(torch.text.find("no torch here"), std::string::npos) << torch.text;
}

/// Options for a stand-in of the peer: its scripts are empty, and `shell` says what they would. The figures go to
/// out.json.
std::string stand_in(const TempFolder& folder, const std::vector<std::string>& scripts, const std::string& shell) {
  for (const std::string& script : scripts) testing::write_text(folder / script, "");
  testing::write_text(folder / "peer", "#!/bin/sh\n" + shell + "\n");
  std::filesystem::permissions(in(folder, "peer"), std::filesystem::perms::owner_all);
  return " --peer '" + in(folder, "peer") + "' --peers '" + folder.path().string() + "' --json '" +
         in(folder, "out.json") + "'";
}

/// The row of out.json of this name; null if there is none.
Json row_of(const TempFolder& folder, const std::string& what) {
  std::ifstream file(in(folder, "out.json"));
  Json report = Json::parse(file);
  for (const Json& row : report["rows"]) {
    if (row["what"].get<std::string>() == what) return row;
  }
  return nullptr;
}

/// What the peer says of the row.
double peer_of(const TempFolder& folder, const std::string& what) {
  Json row = row_of(folder, what);
  return row.contains("peer") ? row["peer"]["median"].get<double>() : -1;
}

TEST(Bench, ThePeerTakesATurnInEveryRound) {
  TempFolder folder;
  std::string peer = stand_in(
      folder, {"loader.py"},
      "echo turn >> '" + in(folder, "turns") +
          "'\necho '{\"results\": {\"batch_resizedcrop_jitter_gray_norm\": 1000, \"batch_pad_flip_norm\": 500}}'");
  Outcome outcome = reprise_bench("loader --quick --rounds 3" + peer);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::ifstream turns(in(folder, "turns"));
  std::string line;
  int count = 0;
  while (std::getline(turns, line)) ++count;
  EXPECT_EQ(count, 4);  // one asks whether torch is there
  Json row = row_of(folder, "contrastive (resized crop, flip, jitter, gray)");
  ASSERT_TRUE(row.is_object());
  EXPECT_EQ(row["peer"]["samples"], Json({1000.0, 1000.0, 1000.0}));
  EXPECT_DOUBLE_EQ(row["ours_over_peer"].get<double>(), row["ours"]["median"].get<double>() / 1000.0);
}

TEST(Bench, APeerThatPrintsOtherThingsIsTheUsersMistakeAndTheirPlaceIsNamed) {
  struct Case {
    const char *bench, *script, *prints, *says;
  };
  for (const Case& c : std::vector<Case>{
           {"loader", "loader.py", "{}", "expected 'results' in what the peer's loader.py printed"},
           {"loader", "loader.py", "{\"results\": 3}", "expected 'results.batch_resizedcrop_jitter_gray_norm' in"},
           {"loader", "loader.py", "words", "expected a line of JSON from the peer's loader.py, got: words"},
           {"loader", "loader.py", "{\"results\": NaN}", "expected a line of JSON from the peer's loader.py"},
           {"optim", "ops.py", "[]", "expected 'rows' in"},
           {"optim", "ops.py", "{\"rows\": {}}",
            "expected a list 'rows' in what the peer's ops.py printed, got object"},
           {"optim", "ops.py", "{\"rows\": [{\"op\": \"sgd momentum 11.5M params, fused\", \"fwd_ms\": null}]}",
            "expected a number as 'fwd_ms' in what the peer's ops.py printed, got null"},
           {"startup", "startup.py", "{\"results\": {}}", "expected 'results.torch to first step' in"}}) {
    TempFolder folder;
    std::string peer = stand_in(folder, {c.script}, std::string("echo '") + c.prints + "'");
    Outcome outcome = reprise_bench(std::string(c.bench) + " --quick --rounds 1" + peer);
    EXPECT_EQ(outcome.code, 2) << outcome.text;
    EXPECT_NE(outcome.text.find(c.says), std::string::npos) << outcome.text;
  }
}

/// Holds a lot, unless freed blocks are returned at once.
constexpr const char* kPeerStep = R"(case "$*" in
  *--memory-of*)
    held=900
    if [ "$MALLOC_TRIM_THRESHOLD_" = 0 ]; then held=100; fi
    echo "{\"rss_peak_minus_before_mib\": $held}" ;;
  *overhead.py*) echo '{"results": {"torch_1000": {"ckpt_over_plain": 2.9}}}' ;;
  *compile*)
    echo '{"modes": {"cl": {"step_ms": 10, "cpu_ms": 10}, "cl_ckpt": {"step_ms": 12, "cpu_ms": 13},
      "compile": {"step_ms": 8, "cpu_ms": 8, "first_step_s": 61}}}' | tr -d '\n' ;;
  *) echo '{"modes": {"cl": {"step_ms": 10, "cpu_ms": 10},
      "cl_ckpt": {"step_ms": 12, "cpu_ms": 13, "ckpt_cpu_ratio": 1.3}}}' | tr -d '\n' ;;
esac)";

TEST(Bench, TheStepOfThePeerIsCompiledOnRequestAndItsFreedBlocksAreReturnedAtOnce) {
  const char* compiled = "without recompute, wall, beside the compiled peer";
  TempFolder folder;
  std::string peer = stand_in(folder, {"cifar_step.py"}, kPeerStep);
  Outcome outcome = reprise_bench("step --quick --rounds 1" + peer);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(peer_of(folder, "without recompute, wall"), 10);
  EXPECT_EQ(peer_of(folder, "without recompute, high-water mark"), 100);
  EXPECT_EQ(peer_of(folder, "replayed / without, CPU"), 1.3);
  EXPECT_TRUE(row_of(folder, compiled).is_null());
  outcome = reprise_bench("step --quick --rounds 1 --compiled" + peer);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(peer_of(folder, compiled), 8);
  EXPECT_NE(outcome.text.find("its first step takes 61.0 s"), std::string::npos) << outcome.text;
  EXPECT_EQ(reprise_bench("step --quick --compiled").code, 2);
}

TEST(Bench, ReplayStandsBesideThePeersCheckpoint) {
  TempFolder folder;
  Outcome outcome =
      reprise_bench("replay --quick --rounds 1" + stand_in(folder, {"overhead.py", "cifar_step.py"}, kPeerStep));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(peer_of(folder, "the same in 10 replayed segments / no segments"), 2.9);
  EXPECT_EQ(peer_of(folder, "small step, every residual block replayed / without"), 1.3);
}

TEST(Bench, OpsAreComparedForwardAndBackwardTogether) {
  TempFolder folder;
  Outcome outcome =
      reprise_bench("ops --quick --rounds 1" +
                    stand_in(folder, {"ops.py", "overhead.py"},
                             R"(echo '{"results": {"torch_1000": {"fwd_us_per_op": 2, "bwd_us_per_op": 3}}, "rows": [
                  {"op": "dropout 2048x2048 p0.1", "fwd_ms": 70, "bwd_ms": 5}]}' | tr -d '\n')"));
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  Json row = row_of(folder, "dropout 64x64 p0.1 forward and backward");
  ASSERT_TRUE(row.is_object());
  EXPECT_EQ(row["peer"]["median"].get<double>(), 75);
  EXPECT_EQ(row["target"], "0.20 of the peer");
  EXPECT_DOUBLE_EQ(row["ours"]["median"].get<double>(),
                   row_of(folder, "dropout 64x64 p0.1 forward")["ours"]["median"].get<double>() +
                       row_of(folder, "dropout 64x64 p0.1 backward")["ours"]["median"].get<double>());
  EXPECT_EQ(peer_of(folder, "chain of 1,000 tiny ops, backward per op"), 3);
}

Samples samples(std::initializer_list<double> values) {
  Samples result;
  for (double value : values) result.add(value);
  return result;
}

TEST(Bench, MediansAndLimitsAreOrderStatistics) {
  EXPECT_EQ(samples({3, 1, 2}).median(), 2);
  EXPECT_EQ(samples({4, 1, 2, 3}).median(), 2.5);
  EXPECT_TRUE(std::isnan(samples({}).median()));
  EXPECT_TRUE(std::isnan(samples({1, 2, 3, 4}).upper_limit()));
  EXPECT_EQ(samples({1, 2, 3, 4, 5}).upper_limit(), 5);  // all five below the median: 1 in 32
  Samples thirty;
  for (int i = 1; i <= 30; ++i) thirty.add(i);
  EXPECT_EQ(thirty.upper_limit(), 20);             // 20 or more heads of 30 coins: 4.9 %
  for (int n : {400, 1000, 1100, 2000, 100000}) {  // 2^1100 is more than a double holds
    Samples many;
    for (int i = 1; i <= n; ++i) many.add(i);
    EXPECT_NEAR(many.upper_limit(), 0.5 * n + 1.645 * 0.5 * std::sqrt(n), 2) << n;  // as a normal distribution has it
  }
  EXPECT_EQ(ratios(samples({2, 9}), samples({1, 3})).values(), (std::vector<double>{2, 3}));
  EXPECT_EQ(sums(samples({2, 9}), samples({1, 3})).values(), (std::vector<double>{3, 12}));
}

TEST(Bench, TheTableLeavesOutColumnsThatNobodyFills) {
  Report report("title", {"machine"});
  report.add({.what = "a", .unit = "ms", .ours = samples({1, 2, 3}), .target = "2"});
  EXPECT_EQ(report.table(),
            "title\n  machine\n\nwhat      ours      min .. max  target; note\na     2.000 ms  1.000 .. 3.000  2\n");
  report.add({.what = "b",
              .unit = "img/s",
              .ours = samples({50}),
              .bound = 100,
              .bound_by = "copy",
              .peer = samples({25}),
              .more_is_better = true});
  std::string table = report.table();
  EXPECT_NE(table.find("100.0 (copy)   50 %"), std::string::npos) << table;
  EXPECT_NE(table.find("2.000\n"), std::string::npos) << table;
}

}  // namespace
}  // namespace reprise::bench
