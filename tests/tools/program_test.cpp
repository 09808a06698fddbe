// The built program as a person meets it: exit codes, messages, help, interruption.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

const std::string kDemo = std::string("'") + REPRISE_SOURCE_DIR + "/configs/cifar100_dense_queue.yaml'";

TEST(Program, HelpNamesTheVerbsAndAnExample) {
  Outcome help = reprise("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_PRED2(contains, help.text, "config ");
  EXPECT_PRED2(contains, help.text, "reprise train configs/cifar100_dense_queue.yaml");
  EXPECT_PRED2(contains, help.text, "Exit codes");
  EXPECT_EQ(reprise("--version").code, 0);
  EXPECT_EQ(reprise("").code, 2);
}

TEST(Program, EveryVerbHasHelpWithAnExample) {
  std::string list = reprise("--help").text;
  std::size_t at = list.find("Subcommands:\n") + 13;
  for (; list[at] == ' ' && list[at + 2] != ' '; at = list.find('\n', at) + 1) {
    std::string verb = list.substr(at + 2, list.find(' ', at + 2) - at - 2);
    Outcome help = reprise(verb + " --help");
    EXPECT_EQ(help.code, 0) << verb;
    EXPECT_PRED2(contains, help.text, "reprise " + verb);
    EXPECT_PRED2(contains, help.text, "Example");
  }
}

TEST(Program, AMistakeExitsTwoAndSaysWhatItIs) {
  Outcome verb = reprise("confg");
  EXPECT_EQ(verb.code, 2);
  EXPECT_PRED2(contains, verb.text, "error (user): [reprise] expected a verb, got \"confg\". Nearest is config");
  Outcome option = reprise("config --nonsense");
  EXPECT_EQ(option.code, 2);
  EXPECT_PRED2(contains, option.text, "`reprise config --help`");
  for (const auto& [arguments, says] : std::vector<std::pair<std::string, std::string>>{
           {"eval", "[reprise eval] expected RUN, got none. "},
           {"bench", "[reprise bench] expected BENCH, got none. "},
           {"doctor x y", "[reprise doctor] expected no such arguments: "},
           {"doctor x", "[reprise doctor] expected no such argument: x. "},
           {"--nope", "[reprise] expected no such argument: --nope. "},
           {"train --resume", "--resume: expected a value, got none. "},
           {"compare a b --rows 0", "--rows: expected a whole number in range, got 0, which is not from 1 to 10000. "},
           {"contract --diff a", "--diff: expected at least 2, got 1. "}}) {
    Outcome mistake = reprise(arguments);
    EXPECT_EQ(mistake.code, 2) << arguments;
    EXPECT_PRED2(contains, mistake.text, says);
  }
  Outcome missing = reprise("config /nonexistent.yaml");
  EXPECT_EQ(missing.code, 2);
  EXPECT_PRED2(contains, missing.text, "/nonexistent.yaml");
}

TEST(Program, AnOverrideIsNamedByItsNumberAsTyped) {
  Outcome outcome = reprise("config " + kDemo + " train.lr=0.1 train.bach=3");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_PRED2(contains, outcome.text,
               "error (config): command line argument 4: train.bach=3:1: unknown key \"train.bach\". Nearest known key "
               "is \"train.batch\"");
}

TEST(Program, ConfigPrintsWhatLoadsBackToTheSame) {
  Outcome first =
      reprise("config " + kDemo + " memory.budget=1.5GiB '~train.lr' 'recompute.options={\"layer2.*\": retain}'");
  ASSERT_EQ(first.code, 0) << first.text;
  EXPECT_PRED2(contains, first.text, "  budget: 1536MiB\n");
  TempFolder folder;
  std::filesystem::path path = folder / "first.yaml";
  write_text(path, first.text);
  EXPECT_EQ(reprise("config '" + path.string() + "'").text, first.text);
  EXPECT_EQ(reprise("config seed=3").code, 0) << "without a file all keys have their defaults";
}

TEST(Program, ConfigExplainsEveryKey) {
  Outcome reference = reprise("config --reference");
  EXPECT_EQ(reference.code, 0);
  for (const char* part : {"model.queue.size", "recompute.method", "memory.budget", "at least 1", "images"}) {
    EXPECT_PRED2(contains, reference.text, part);
  }
  EXPECT_PRED2(contains, reprise("config --markdown").text,
               "| `probe.batch` | integer | images | `512` | at least 1 |");
  EXPECT_EQ(reprise("config --reference seed=1").code, 2);
}

TEST(Program, OutputThatIsLostIsAFailure) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(reprise("config", ">/dev/full 2>/dev/null").code, 1);
  Outcome ops = reprise("ops", "2>&1 >/dev/full");
  EXPECT_EQ(ops.code, 1);
  EXPECT_PRED2(contains, ops.text, "error (io)");
}

TEST(Program, AReaderThatLeavesEndsAVerbQuietly) {
  for (const char* verb : {"ops", "config --reference", "ops --json"}) {
    Outcome outcome = run_shell("( { sleep 0.2; " + program_word() + " " + verb + "; echo $? >&2; } | true ) 2>&1");
    EXPECT_EQ(outcome.text, "1\n") << verb;
  }
}

}  // namespace
}  // namespace reprise
