// `tools/test --soak`: case by case, and what an interrupted run or a broken test program comes to. The build and the
// test programs have stand-ins here.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

// A test program of two cases. A file of a case's name in the folder `ends` holds the code that it ends with.
constexpr const char* kTestProgram = R"sh(#!/bin/sh
ends=$(dirname "$0")/../ends
for word; do
  case $word in
    --gtest_list_tests) printf 'Suite.\n  One\n  Two\n'; exit 0 ;;
    --gtest_filter=*) name=${word#*Suite.} ;;
    --gtest_output=xml:*) report=${word#*xml:} ;;
  esac
done
if [ -e "$ends/$name" ]; then exit "$(cat "$ends/$name")"; fi
printf '<testcase name="%s" status="run" result="completed" classname="Suite" />\n</testsuite>\n' "$name" >"$report"
)sh";

class Soak : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"tools", "build/bin", "build/ends"}) fs::create_directories(folder_ / name);
    fs::copy_file(REPRISE_SOURCE_DIR "/tools/test", folder_ / "tools" / "test");
    write_text(folder_ / "tools" / "setup.sh",
               "say() { echo \"$*\" >&2; }\ndie() { shift; say \"$@\"; exit 1; }\ncan_fuzz() { false; }\n"
               "for name in lock_build unlock_build ensure_packages build_tree name_python; do\n"
               "  eval \"$name() { :; }\"\ndone\n");
    program("test_good", kTestProgram);
  }
  void program(const std::string& name, const std::string& text) const {
    write_text(folder_ / "build" / "bin" / name, text);
    fs::permissions(folder_ / "build" / "bin" / name, fs::perms::owner_all);
  }
  void ends(const std::string& name, const std::string& code) const {
    write_text(folder_ / "build" / "ends" / name, code);
  }
  Outcome soak() const { return run_shell("bash " + shell_word((folder_ / "tools/test").string()) + " --soak 2>&1"); }

  TempFolder folder_;
};

TEST_F(Soak, GoesOnWhereItWasAndTriesAgainWhatFailed) {
  ends("One", "1");
  ends("Two", "130");
  EXPECT_EQ(soak().code, 130);
  fs::remove(folder_ / "build" / "ends" / "Two");
  Outcome failed = soak();
  EXPECT_EQ(failed.code, 1);
  EXPECT_PRED2(contains, failed.text, "\n1 passed, 1 failed, 0 skipped\n");
  ends("Two", "130");  // it has passed, and is not asked again
  fs::remove(folder_ / "build" / "ends" / "One");
  Outcome whole = soak();
  EXPECT_EQ(whole.code, 0) << whole.text;
  EXPECT_PRED2(contains, whole.text, "\n2 passed, 0 failed, 0 skipped\n");
}

TEST_F(Soak, AFailureBeforeAnInterruptionIsForgottenWhenItsCasePasses) {
  ends("One", "1");
  ends("Two", "130");
  EXPECT_EQ(soak().code, 130);
  fs::remove_all(folder_ / "build" / "ends");
  Outcome whole = soak();
  EXPECT_EQ(whole.code, 0) << whole.text;
  EXPECT_PRED2(contains, whole.text, "\n2 passed, 0 failed, 0 skipped\n");
}

TEST_F(Soak, AProgramWhoseCasesCannotBeListedHasFailed) {
  program("test_broken", "#!/bin/sh\nexit 139\n");
  Outcome outcome = soak();
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_PRED2(contains, outcome.text, "test_broken: its cases cannot be listed");
  EXPECT_PRED2(contains, outcome.text, "\n2 passed, 1 failed, 0 skipped\n");
}

}  // namespace
}  // namespace reprise
