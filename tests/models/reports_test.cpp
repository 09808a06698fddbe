// What a run writes for other programs: event files as TensorBoard's own package reads them, and traces by the rules of
// their format and by what the step must have done.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <set>

#include "models/run/event_file.h"
#include "models/run/run_folder.h"
#include "models/run/summary_table.h"
#include "models/run/trace_file.h"
#include "models/run/wire.h"
#include "tests/models/tiny_run.h"
#include "tests/support/surroundings.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Runs a script with the folder as its argument. Returns its exit code.
int script_code(const fs::path& folder, const std::string& text) {
  std::ofstream(folder / "check.py") << text;
  int status = std::system((python() + " " + (folder / "check.py").string() + " " + folder.string()).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(EventFile, ChecksumsAreThoseOfTheFormat) {
  // RFC 3720, appendix B.4, and the check value of CRC-32C.
  EXPECT_EQ(internal::crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(internal::crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(internal::crc32c(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(internal::framed("abc").size(), 8u + 4 + 3 + 4);
}

TEST(EventFile, NothingIsMadeBeforeTheFirstScalar) {
  TempFolder scratch;
  EventFile file(scratch.path(), 0, Json::object());
  file.scalars(1, "train", {{"note", "no number"}});
  file.finish();
  EXPECT_TRUE(event_files(scratch.path()).empty());
  file.scalars(1, "train", {{"loss", 1.5}});
  EXPECT_EQ(event_files(scratch.path()).size(), 1u);
  EventFile next(scratch.path(), 1, Json::object());
  next.scalars(2, "train", {{"loss", 1.0}});
  std::vector<fs::path> files = event_files(scratch.path());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1], next.path()) << "a later file comes later in the order of names";
}

TEST(EventFile, TheKeyTurnsItOff) {
  TempFolder scratch;
  run_tiny(kTinyClassifier, scratch / "run", {"tensorboard=false", "train.max_steps=3"});
  EXPECT_TRUE(event_files(scratch / "run").empty());
  EXPECT_FALSE(fs::exists(scratch / "run" / "trace.json"));
}

constexpr const char* kReadEvents = R"(
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata
d = sys.argv[1]
a = EventAccumulator(d, size_guidance={'scalars': 0})
a.Reload()
lines = [json.loads(l) for l in open(d + '/metrics.jsonl')]
for key in ('loss', 'accuracy', 'lr', 'images_per_second'):
    got = [(e.step, e.value) for e in a.Scalars('train/' + key)]
    want = [(l['step'], l[key]) for l in lines]
    assert [s for s, _ in got] == [s for s, _ in want], (key, got, want)
    assert all(abs(g - w) <= 1e-6 * abs(w) for (_, g), (_, w) in zip(got, want)), (key, got, want)
summary = json.load(open(d + '/summary.json'))
assert a.Scalars('peak_memory/total')[-1].value == float(summary['memory']['peak_bytes'])
for name, size in summary['memory']['peak_by_category'].items():
    assert a.Scalars('peak_memory/' + name)[-1].value == float(size), name
assert abs(a.Scalars('eval/test/top1')[-1].value - summary['test']['top1']) < 1e-5
start = metadata.parse_session_start_info_plugin_data(a.SummaryMetadata('_hparams_/session_start_info').plugin_data.content)
assert start.hparams['train.lr'].number_value == 0.05, start
assert start.hparams['model.type'].string_value == 'classifier', start
assert start.hparams['train.nesterov'].HasField('bool_value'), start
end = metadata.parse_session_end_info_plugin_data(a.SummaryMetadata('_hparams_/session_end_info').plugin_data.content)
assert end.status == 1, end
)";

TEST(EventFile, TensorBoardReadsWhatTheMetricsSay) {
  if (std::string reason = python_lacks("tensorboard"); !reason.empty()) GTEST_SKIP() << reason;
  TempFolder scratch;
  run_tiny(kTinyClassifier, scratch / "run");
  EXPECT_EQ(script_code(scratch / "run", kReadEvents), 0);
}

TEST(EventFile, AResumedRunReadsAsOneThatWasNeverStopped) {
  if (std::string reason = python_lacks("tensorboard"); !reason.empty()) GTEST_SKIP() << reason;
  TempFolder scratch;
  fs::path folder = scratch / "run";
  run_tiny(kTinyClassifier, folder, {"train.checkpoint_every=3", "train.log_every=1"});
  // As after a kill between step 6 and 8: lines and events of later steps are there, the newest checkpoint is older.
  Config config = RunFolder::read_config(folder);
  ASSERT_TRUE(fs::exists(folder / "state-00000006.json"));
  fs::remove(folder / "state.json");
  fs::remove(folder / "state-00000008.json");
  fs::copy_file(folder / "state-00000006.json", folder / "state.json");
  fs::path earlier = event_files(folder).at(0);
  fs::resize_file(earlier, fs::file_size(earlier) - 5);  // the last record is torn
  ASSERT_EQ(train(config, {.resume = folder, .progress = ProgressMode::quiet}).ending, Ending::finished);
  EXPECT_EQ(event_files(folder).size(), 2u);
  EXPECT_EQ(script_code(folder, kReadEvents), 0);
}

struct TraceRules {
  std::map<std::string, int> spans;             // by category
  std::map<std::string, std::int64_t> highest;  // counter values
  std::set<std::string> inside;                 // "outer > inner" by category
};

/// Every B has an E, times do not go back on a track or a counter.
TraceRules check_rules(const Json& trace) {
  TraceRules rules;
  std::map<std::int64_t, std::vector<Json>> open;
  std::map<std::string, double> last;
  for (const Json& event : trace["traceEvents"]) {
    std::string phase = event["ph"];
    if (phase == "M") continue;
    double at = event["ts"];
    std::string track = phase == "C" ? event["name"].get<std::string>() : std::to_string(event["tid"].get<int>());
    EXPECT_GE(at, last[track]) << event.dump();
    EXPECT_GE(at, 0);
    last[track] = at;
    if (phase == "C") {
      auto& highest = rules.highest[track];
      highest = std::max(highest, event["args"]["bytes"].get<std::int64_t>());
      EXPECT_GE(event["args"]["bytes"].get<std::int64_t>(), 0) << track;
      continue;
    }
    auto& stack = open[event["tid"].get<std::int64_t>()];
    if (phase == "B") {
      ++rules.spans[event["cat"]];
      if (!stack.empty())
        rules.inside.insert(stack.back()["cat"].get<std::string>() + " > " + event["cat"].get<std::string>());
      stack.push_back(event);
    } else {
      EXPECT_EQ(phase, "E");
      EXPECT_FALSE(stack.empty()) << "an end without a beginning";
      if (!stack.empty()) stack.pop_back();
    }
  }
  for (const auto& [tid, stack] : open) EXPECT_TRUE(stack.empty()) << "no end on track " << tid;
  return rules;
}

TEST(Trace, SpansAndCountersFollowTheRulesAndTheStep) {
  TempFolder scratch;
  TrainOutcome outcome =
      run_tiny(kTinyQueue, scratch / "run", {"trace=true", "trace_steps=3", "recompute.method=region"});
  Json trace = Json::parse(file_text(scratch / "run" / "trace.json"));
  EXPECT_EQ(trace["otherData"]["steps"], Json({1, 2, 3}));
  EXPECT_EQ(trace["otherData"]["left_out"], 0);
  TraceRules rules = check_rules(trace);
  EXPECT_EQ(rules.spans["step"], 3);
  for (const char* category :
       {"op", "forward", "replayed op", "replay", "backward op", "backward", "preserve", "exchange", "loader"}) {
    EXPECT_GT(rules.spans[category], 0) << category;
  }
  for (const char* nesting : {"step > stage", "stage > forward", "forward > op", "stage > replay",
                              "replay > replayed op", "stage > backward", "backward > backward op", "op > preserve"}) {
    EXPECT_TRUE(rules.inside.contains(nesting)) << nesting;
  }
  EXPECT_EQ(rules.highest["live bytes"], outcome.summary["memory"]["peak_bytes"].get<std::int64_t>());
  EXPECT_EQ(rules.highest["live parameters"],
            outcome.summary["memory"]["peak_by_category"]["parameters"].get<std::int64_t>());
  EXPECT_GT(rules.highest["live preserved"], 0);
}

constexpr int kNoTraceProcessor = 77;
constexpr const char* kReadTrace = R"(
import collections, json, shutil, signal, sys
from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
config = TraceProcessorConfig(bin_path=shutil.which('trace_processor_shell'))  # None: the one that the package fetches
def late(*_): raise TimeoutError('not there after two minutes')
signal.signal(signal.SIGALRM, late)
signal.alarm(120)
try:
    TraceProcessor(config=config).close()
except Exception as error:
    sys.exit(77)
signal.alarm(0)
path = sys.argv[1] + '/trace.json'
events = json.load(open(path))['traceEvents']
reader = TraceProcessor(trace=path, config=config)
def first(query): return next(iter(reader.query(query)))
spans = collections.Counter(e['cat'] for e in events if e['ph'] == 'B')
read = {row.category: row.n for row in reader.query('select category, count(*) as n from slice group by category')}
assert read == spans, (read, spans)
assert first('select count(*) as n from slice where dur < 0').n == 0, 'a span without an end'
values = [e['args']['bytes'] for e in events if e['ph'] == 'C']
assert first('select max(value) as most from counter').most == max(values), max(values)
assert first("select count(*) as n from stats where name like 'json%' and severity = 'error' and value > 0").n == 0
reader.close()
)";

/// Only in a full run, since the package fetches its trace processor where there is none.
TEST(Trace, PerfettosTraceProcessorReadsEverySpanAndCounter) {
  if (!std::getenv("REPRISE_FULL")) GTEST_SKIP() << "in a full run only";
  if (std::string reason = python_lacks("perfetto.trace_processor"); !reason.empty()) GTEST_SKIP() << reason;
  TempFolder scratch;
  run_tiny(kTinyQueue, scratch / "run", {"trace=true", "trace_steps=3", "recompute.method=region"});
  int code = script_code(scratch / "run", kReadTrace);
  if (code == kNoTraceProcessor) GTEST_SKIP() << "the package perfetto cannot fetch its trace processor here";
  EXPECT_EQ(code, 0);
}

TEST(Trace, LooksOnAndChangesNothing) {
  TempFolder scratch;
  TrainOutcome plain = run_tiny(kTinyQueue, scratch / "a", {"recompute.method=whole"});
  TrainOutcome traced =
      run_tiny(kTinyQueue, scratch / "b", {"recompute.method=whole", "trace=true", "trace_steps=1000"});
  EXPECT_EQ(plain.summary["hash"], traced.summary["hash"]);
  EXPECT_EQ(plain.summary["memory"]["peak_bytes"], traced.summary["memory"]["peak_bytes"]);
  EXPECT_EQ(check_rules(Json::parse(file_text(scratch / "b" / "trace.json"))).spans["step"], 12)
      << "all steps there were";
}

TEST(Trace, ARunThatGoesOnWithNoStepLeftKeepsItsTrace) {
  TempFolder scratch;
  fs::path folder = scratch / "run";
  run_tiny(kTinyClassifier, folder, {"trace=true", "trace_steps=2", "train.max_steps=2"});
  std::string trace = file_text(folder / "trace.json");
  Config same = RunFolder::read_config(folder);
  ASSERT_EQ(train(same, {.resume = folder, .progress = ProgressMode::quiet}).ending, Ending::finished);
  EXPECT_EQ(file_text(folder / "trace.json"), trace);
  Config longer = RunFolder::read_config(folder, number_overrides({"train.max_steps=4"}));
  ASSERT_EQ(train(longer, {.resume = folder, .progress = ProgressMode::quiet}).ending, Ending::finished);
  EXPECT_EQ(Json::parse(file_text(folder / "trace.json"))["otherData"]["steps"], Json({3, 4}));
}

TEST(Trace, ALossThatIsNotFiniteLeavesNothingBehindThatListens) {
  TempFolder scratch;
  Config config = tiny_config(kTinyQueue, scratch / "a", {"trace=true", "train.lr=1e36", "train.warmup_steps=0"});
  EXPECT_EQ(train(config, {.resume = {}, .progress = ProgressMode::quiet}).ending, Ending::diverged);
  run_tiny(kTinyQueue, scratch / "b", {"recompute.method=region"});
}

TEST(TraceFile, WhatIsTooMuchIsLeftOutAndCounted) {
  TraceFile file(3);
  for (int i = 0; i < 5; ++i) file.add(TraceTrack::step, {"a \"b\"", "op", trace_clock(), trace_clock(), nullptr});
  Json trace = Json::parse(file.text({{"steps", 1}}));
  EXPECT_EQ(trace["otherData"]["left_out"], 2);
  EXPECT_EQ(check_rules(trace).spans["op"], 3);
}

TEST(SummaryTable, ShowsWhatThereIs) {
  Json summary = {{"model", "m"}, {"steps", 7}, {"train", {{"loss", 1.25}}}, {"memory", {{"peak_bytes", 2048}}}};
  std::string text = summary_text(summary);
  EXPECT_PRED2(contains, text, "peak memory            2.0 KiB");
  EXPECT_PRED2(contains, text, "loss of the last step  1.2500");
  EXPECT_FALSE(contains(text, "probe"));
  EXPECT_FALSE(contains(text, "best"));
  summary["best"] = {{"metric", "knn"}, {"value", 41.5}, {"step", 6}};
  summary["probe"] = {{"top1", 20.0}, {"top5", 40.0}, {"untrained", {{"top1", 8.0}, {"top5", 26.0}}}};
  text = summary_text(summary);
  EXPECT_PRED2(contains, text, "best knn               41.5, after step 6\n");
  EXPECT_PRED2(contains, text, "probe top-1            20.00 %, top-5 40.00 %\n");
  EXPECT_PRED2(contains, text, "  untrained encoder    8.00 %, top-5 26.00 %\n");
  // As read from a file that anybody may have written: what is not of its kind is not there.
  for (const Json& odd : {Json(), Json(5), Json({1, 2}), Json({{"train", Json::array()}, {"best", "x"}}),
                          Json({{"memory", {{"peak_bytes", 1e300}}}, {"plan", {{"gap", "none"}}}})}) {
    EXPECT_PRED2(contains, summary_text(odd), "peak memory            -\n");
  }
}

}  // namespace
}  // namespace reprise
