// Run folders: who may use one, and files that survive a kill.
#include "models/run/run_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <optional>

#include "core/interrupt.h"
#include "models/run/progress.h"
#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = folder_.path();
    before_ = fs::current_path();
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::permissions(root_, fs::perms::owner_all);
  }
  Config config_for(const std::string& folder) const { return load_config("", {"run.dir='" + folder + "'"}); }

  static std::string read(const fs::path& path) { return testing::file_text(path); }
  static void write(const fs::path& path, const std::string& text) { testing::write_text(path, text); }

  /// The error that a call must end with.
  template <class Call>
  static Error error_of(Call&& call) {
    std::optional<Error> error = testing::caught(call);
    EXPECT_TRUE(error) << "no error";
    return error.value_or(Error(ErrorKind::internal, ""));
  }

  testing::TempFolder folder_;
  fs::path root_, before_;
};

TEST_F(RunFolderTest, LeavesTheResolvedConfiguration) {
  Config config = config_for(root_ / "a" / "b");
  RunFolder folder = RunFolder::create(config);
  Config back = RunFolder::read_config(folder.path());
  EXPECT_EQ(back.to_yaml(), config.to_yaml());
  EXPECT_EQ(back.get_string("run.dir"), (root_ / "a" / "b").string());
}

TEST_F(RunFolderTest, AFolderOfAnotherRunIsRefusedAndUntouched) {
  Config config = config_for(root_ / "run");
  { RunFolder::create(config).metrics().append({{"step", 1}}); }
  std::string before = read(root_ / "run" / "config.yaml");
  Config second = config_for(root_ / "run");
  Error error = error_of([&] { RunFolder::create(second); });
  EXPECT_EQ(exit_code(error.kind()), 2);
  EXPECT_NE(error.message().find("--resume"), std::string::npos) << error.what();
  EXPECT_EQ(read(root_ / "run" / "config.yaml"), before);
  EXPECT_NO_THROW(RunFolder::resume(root_ / "run"));
}

TEST_F(RunFolderTest, ARunThatLeftNothingIsReplacedAndItSaysSo) {
  Config config = config_for(root_ / "run"), second = config_for(root_ / "run");
  { EXPECT_FALSE(RunFolder::create(config).began_before()); }
  write(root_ / "run" / "checkpoint-00000001.safetensors.partial", "half");
  write(root_ / "run" / "plan.json", "of the run before");
  second.set("seed", std::int64_t{99}, "test");
  {
    RunFolder folder = RunFolder::create(second);
    EXPECT_TRUE(folder.began_before());
    EXPECT_EQ(RunFolder::read_config(root_ / "run").get_int("seed"), 99);
    EXPECT_FALSE(fs::exists(root_ / "run" / "checkpoint-00000001.safetensors.partial"));
    EXPECT_FALSE(fs::exists(root_ / "run" / "plan.json"));
    EXPECT_EQ(error_of([&] { RunFolder::create(config); }).kind(), ErrorKind::user) << "the lock holds it";
  }
}

TEST_F(RunFolderTest, WhatMayBeSomebodysOwnIsNoRunThatLeftNothing) {
  for (const char* name :
       {"config.yaml", "state.json", "checkpoint-00000001.safetensors", "notes.partial", "plan.json"}) {
    fs::create_directories(root_ / "own");
    write(root_ / "own" / name, "seed: 1\n");
    Config config = config_for(root_ / "own");
    EXPECT_EQ(exit_code(error_of([&] { RunFolder::create(config); }).kind()), 2) << name;
    EXPECT_EQ(read(root_ / "own" / name), "seed: 1\n");
    fs::remove_all(root_ / "own");
  }
}

TEST_F(RunFolderTest, WithoutAFolderTheNextFreeNameIsTaken) {
  fs::current_path(root_);
  Config first = load_config(""), second = load_config(""), third = load_config("");
  RunFolder a = RunFolder::create(first);
  { RunFolder b = RunFolder::create(second); }
  RunFolder c = RunFolder::create(third);
  EXPECT_EQ(first.get_string("run.dir"), "runs/run");
  EXPECT_EQ(second.get_string("run.dir"), "runs/run-2");
  EXPECT_EQ(c.path(), "runs/run-3");
}

TEST_F(RunFolderTest, ASecondProcessIsRefusedWithTheNumberOfTheFirst) {
  Config config = config_for(root_ / "run");
  { RunFolder folder = RunFolder::create(config); }
  int to_child[2], to_parent[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(to_parent), 0);
  pid_t child = ::fork();
  if (child == 0) {
    char byte = 'x';
    RunFolder held = RunFolder::resume(root_ / "run");
    bool talked = ::write(to_parent[1], &byte, 1) == 1 && ::read(to_child[0], &byte, 1) == 1;
    ::_exit(talked ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
  Error error = error_of([&] { RunFolder::resume(root_ / "run"); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_NE(error.message().find("process " + std::to_string(child)), std::string::npos) << error.what();
  ASSERT_EQ(::write(to_child[1], &byte, 1), 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NO_THROW(RunFolder::resume(root_ / "run", 5)) << "a lock ends with its process";
  for (int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(fd);
}

TEST_F(RunFolderTest, WaitingForAnotherProcessEndsWhenSomebodyAsksToStop) {
  Config config = config_for(root_ / "run"), second = config_for(root_ / "run");
  second.set("run.lock_wait", 600.0, "test");
  RunFolder held = RunFolder::create(config);
  request_stop();
  EXPECT_THROW(RunFolder::resume(root_ / "run", 600), Interrupted);
  EXPECT_THROW(RunFolder::create(second), Interrupted);
  clear_stop_request();
}

TEST_F(RunFolderTest, WhatIsNoRunFolderIsRefused) {
  EXPECT_EQ(error_of([&] { RunFolder::resume(root_ / "missing"); }).kind(), ErrorKind::user);
  EXPECT_EQ(error_of([&] { RunFolder::read_config(root_); }).kind(), ErrorKind::user);
  write(root_ / "file", "x");
  Config config = config_for(root_ / "file" / "run");
  EXPECT_EQ(error_of([&] { RunFolder::create(config); }).kind(), ErrorKind::user);
}

TEST_F(RunFolderTest, AFolderThatCannotBeMadeIsADiskError) {
  Config config = config_for("/proc/no/such");
  Error error = error_of([&] { RunFolder::create(config); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(error.message().find("/proc/no/such"), std::string::npos);
}

TEST_F(RunFolderTest, SummariesAreNestedAndReplacedAtOnce) {
  Config config = config_for(root_ / "run");
  RunFolder folder = RunFolder::create(config);
  Json summary = {
      {"probe", {{"top1", 31.25}, {"top5", 60.0}}}, {"plan", {{"predicted_peak_bytes", nullptr}}}, {"steps", 20}};
  folder.write_summary(summary);
  folder.write_summary(summary);
  EXPECT_EQ(read(folder.file("summary.json")),
            "{\n  \"probe\": {\n    \"top1\": 31.25,\n    \"top5\": 60.0\n  },\n  \"plan\": {\n"
            "    \"predicted_peak_bytes\": null\n  },\n  \"steps\": 20\n}\n");
  EXPECT_EQ(Json::parse(read(folder.file("summary.json"))), summary);
}

TEST_F(RunFolderTest, MetricsAreCutBackToAStep) {
  fs::path path = root_ / "metrics.jsonl";
  {
    MetricsLog log(path);
    for (int step : {10, 20, 30}) log.append({{"step", step}, {"loss", 0.1f}});
    log.append({{"step", 30}, {"epoch", 1}});
  }
  std::string whole = read(path);
  EXPECT_EQ(whole.substr(0, whole.find('\n')), "{\"step\": 10, \"loss\": 0.10000000149011612}");
  write(path, whole + "{\"step\": 40, \"lo");
  MetricsLog log(path);
  log.truncate_after(30);
  EXPECT_EQ(read(path), whole) << "the torn line goes, the others stay";
  log.truncate_after(20);
  EXPECT_EQ(read(path), whole.substr(0, whole.find("{\"step\": 30")));
  log.append({{"step", 30}, {"loss", 0.1f}});
  log.append({{"step", 30}, {"epoch", 1}});
  EXPECT_EQ(read(path), whole) << "what is written again is the same bytes";
  log.truncate_after(0);
  EXPECT_EQ(read(path), "");
}

TEST_F(RunFolderTest, MetricsAreCutBackToANumberOfLines) {
  fs::path path = root_ / "metrics.jsonl";
  MetricsLog log(path);
  EXPECT_EQ(log.lines(), 0);
  for (const char* of : {"loss", "knn", "late"}) log.append({{"step", 20}, {of, 1}});
  EXPECT_EQ(log.lines(), 3);
  std::string whole = read(path);
  MetricsLog again(path);
  again.truncate_after(20, 7);
  EXPECT_EQ(again.lines(), 3);
  EXPECT_EQ(read(path), whole);
  again.truncate_after(20, 2);
  EXPECT_EQ(again.lines(), 2);
  EXPECT_EQ(read(path), whole.substr(0, whole.find("{\"step\": 20, \"late\"")));
  MetricsLog moved(std::move(again));
  moved.append({{"step", 20}, {"late", 1}});
  EXPECT_EQ(moved.lines(), 3);
  EXPECT_EQ(read(path), whole);
  moved.truncate_after(10);
  EXPECT_EQ(moved.lines(), 0);
}

TEST_F(RunFolderTest, ACompleteLineWithoutItsEndIsTorn) {
  write(root_ / "m", "{\"step\": 1}\n{\"step\": 2}");
  MetricsLog log(root_ / "m");
  log.truncate_after(9);
  EXPECT_EQ(read(root_ / "m"), "{\"step\": 1}\n");
}

TEST_F(RunFolderTest, MetricsChangedFromOutsideAreNotThrownAway) {
  std::string text = "{\"step\": 1}\nrubbish\n{\"step\": 2}\n";
  write(root_ / "m", text);
  MetricsLog log(root_ / "m");
  Error error = error_of([&] { log.truncate_after(5); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(error.message().find("m:2"), std::string::npos) << error.what();
  EXPECT_EQ(read(root_ / "m"), text);
}

TEST_F(RunFolderTest, ReadersOfMetricsLeaveOutATornLastLineOnly) {
  write(root_ / "m", "{\"step\": 1}\n{\"step\": 2, \"loss\": 0.5}\n{\"step\": 3, \"lo");
  std::vector<Json> lines = read_metrics(root_ / "m", "plot");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1]["loss"], 0.5);
  for (const char* bad : {"rubbish", "{\"loss\": 1}", "{\"step\": \"2\"}", "[]", ""}) {
    write(root_ / "m", "{\"step\": 1}\n" + std::string(bad) + "\n{\"step\": 3}\n");
    Error error = error_of([&] { read_metrics(root_ / "m", "plot"); });
    EXPECT_EQ(error.kind(), ErrorKind::io) << bad;
    EXPECT_NE(error.message().find("m:2: expected a JSON object with a step"), std::string::npos) << error.what();
  }
}

TEST_F(RunFolderTest, AFullDiskIsNamed) {
  MetricsLog log("/dev/full");
  Error error = error_of([&] { log.append({{"step", 1}}); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(error.message().find("/dev/full"), std::string::npos);
  EXPECT_NE(error.message().find("No space left"), std::string::npos);
}

TEST(JsonText, NumbersReadBackAsTheSameDouble) {
  for (double number : {0.1, 1.0, 1e300, 5e-324, -0.0, 123456789.123456789, 1e22, std::nextafter(1.0, 2.0)}) {
    double back = Json::parse(json_line(number)).get<double>();
    EXPECT_EQ(std::signbit(back), std::signbit(number));
    EXPECT_EQ(back, number) << json_line(number);
  }
  EXPECT_EQ(json_line(Json(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(json_line(Json{{"a", "x\n\"\xff"}}), "{\"a\": \"x\\n\\\"\xEF\xBF\xBD\"}");
  EXPECT_EQ(json_line(Json::object()), "{}");
}

TEST(JsonText, APathThatLeadsNowhereIsNull) {
  Json value = {{"a", {{"b", 1}}}, {"list", {1, 2}}, {"text", "b"}};
  EXPECT_EQ(json_at(value, "a/b"), 1);
  EXPECT_EQ(json_at(value, "a"), value["a"]);
  EXPECT_EQ(json_at(value, ""), value);
  for (const char* path : {"b", "a/c", "a/b/c", "list/0", "list/b", "text/b", "a//b"})
    EXPECT_TRUE(json_at(value, path).is_null()) << path;
}

TEST(JsonText, WhatIsNoTextReadsAsEmpty) {
  EXPECT_EQ(text_in(Json{{"a", "b"}}, "a"), "b");
  for (const Json& other : {Json(), Json(5), Json({1, 2}), Json({{"a", 1}}), Json({{"b", "a"}})})
    EXPECT_EQ(text_in(other, "a"), "");
}

TEST(Progress, TheLineFitsTheTerminal) {
  ProgressState state{"train", 2, 20, 90, 1560, 4.12345, 812.4, 101187584, 184};
  EXPECT_EQ(progress_text(state, 200),
            "train | epoch 2/20 | step 90/1560 | loss 4.1235 | 812 images/s | peak 96.5 MiB | 3:04 left");
  EXPECT_EQ(progress_text(state, 48), "train | epoch 2/20 | step 90/1560 | loss 4.1235");
  for (int width = 1; width < 120; ++width) {
    EXPECT_LE(progress_text(state, width).size(), static_cast<std::size_t>(width));
  }
}

TEST(Progress, PlainLinesComeAtTheInterval) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  {
    Progress progress(ProgressMode::plain, 10, out);
    for (int step = 1; step <= 25; ++step) progress.update({.step = step, .steps = 25, .loss = 1});
    progress.note("done");
    Progress silent(ProgressMode::quiet, 1, out);
    silent.update({.step = 1});
    silent.note("nothing");
  }
  std::fclose(out);
  EXPECT_STREQ(
      text,
      "train | step 10/25 | loss 1.0000\ntrain | step 20/25 | loss 1.0000\ntrain | step 25/25 | loss 1.0000\ndone\n");
  std::free(text);
}

TEST(Progress, TimesForPeople) {
  EXPECT_EQ(readable_seconds(59.6), "1:00");
  EXPECT_EQ(readable_seconds(3723), "1:02:03");
}

}  // namespace
}  // namespace reprise
