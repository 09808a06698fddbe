// The installed package, from outside: tests/consumer builds against it and nothing else, trains its own model with its
// own op, and has its contracts checked; CMake and pkg-config find it, and another version is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  return text;
}

/// Lines of code in the README's walk-through that are neither in the consumer's sources nor said by its checks. Blanks
/// and comments do not count, "..." stands for anything, and commands are run by the tests.
std::string lines_found_nowhere(const std::string& said_by_checks) {
  const fs::path root = REPRISE_SOURCE_DIR;
  std::string known = without_blanks(said_by_checks), missing;
  for (const auto& entry : fs::directory_iterator(root / "tests/consumer")) known += without_blanks(file_text(entry));
  const std::string readme = file_text(root / "README.md");
  std::size_t begin = readme.find("\n## Your own op\n");
  std::istringstream in(readme.substr(begin + 1, readme.find("\n## ", begin + 1) - begin));
  int lines = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("    ") || line.starts_with("    tools/") || line.starts_with("    ./")) continue;
    ++lines;
    std::string code = line.substr(0, std::min(line.find("  //"), line.find("  #")));
    if (code.starts_with("    [recall] ")) code = code.substr(13);
    code = without_blanks(code);
    for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 3) {
      end = code.find("...", at);
      if (!contains(known, code.substr(at, end - at))) missing += line + "\n";
    }
  }
  return lines > 20 ? missing : "the walk-through was not found";
}

class Package : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a package of a sanitized build is not meant for others";
    run("cmake --install " + shell_word(build_.string()) + " --prefix " + path("first"));
    // The package may be moved as a whole.
    fs::rename(folder_ / "first", folder_ / "package");
  }

  std::string path(const std::string& name) const { return shell_word((folder_ / name).string()); }

  /// Runs a command that is to end well, and returns what it said.
  static std::string run(const std::string& command) {
    Outcome outcome = run_shell("(" + command + ") 2>&1");
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.text;
    return outcome.text;
  }

  fs::path build_ = fs::path(REPRISE_BINARY).parent_path().parent_path();
  TempFolder folder_{build_};
};

TEST_F(Package, AConsumerWithItsOwnOpAndModelBuildsTrainsAndIsChecked) {
  fs::copy(fs::path(REPRISE_SOURCE_DIR) / "tests/consumer", folder_ / "consumer", fs::copy_options::recursive);
  run("cmake -S " + path("consumer") + " -B " + path("build") + " -G Ninja -DCMAKE_PREFIX_PATH=" + path("package") +
      " -DCMAKE_CXX_FLAGS=-O1");
  run("cmake --build " + path("build") + " -j 2");
  if (HasFailure()) return;
  std::string tests = run("ctest --test-dir " + path("build") + " --output-on-failure");
  EXPECT_PRED2(contains, tests, "100% tests passed, 0 tests failed out of 3");

  std::string checks = run(path("build/check_recall"));
  EXPECT_PRED2(contains, checks, "Add it to .updates");
  EXPECT_PRED2(contains, checks, "Set .draws");
  EXPECT_PRED2(contains, checks, "Add old(\"memory\")");
  EXPECT_EQ(lines_found_nowhere(checks), "");

  std::string program = path("build/recall_program");
  EXPECT_PRED2(contains, run(program + " ops recall"), "memory");
  EXPECT_PRED2(contains, run(program + " config --reference"), "model.rows");
  std::string config = path("consumer/recall.yaml");
  run(program + " train " + config + " run.dir=" + path("half") + " train.max_steps=9");
  run(program + " train --resume " + path("half"));
  Outcome rows = run_shell(program + " train " + config + " model.rows=3 2>&1");
  EXPECT_EQ(rows.code, 2);
  EXPECT_PRED2(contains, rows.text, "model.rows");
}

TEST_F(Package, PkgConfigFindsItAndTheInstalledProgramRuns) {
  EXPECT_PRED2(contains, run(path("package/bin/reprise") + " --version"), "reprise ");
  if (run_shell("pkg-config --version").code != 0) GTEST_SKIP() << "pkg-config is not installed";
  std::ofstream(folder_ / "main.cpp")
      << "#include \"tools/cli/program.h\"\n"
         "int main(int argc, char** argv) { return reprise::run_program(argc, argv); }\n";
  std::string config = "PKG_CONFIG_PATH=" + path("package/lib/pkgconfig") + " pkg-config";
  run("c++ $(" + config + " --cflags reprise) " + path("main.cpp") + " -o " + path("own") + " $(" + config +
      " --libs reprise)");
  EXPECT_EQ(run(path("own") + " --version"), run(path("package/bin/reprise") + " --version"));
}

TEST_F(Package, AnotherVersionIsRefused) {
  fs::create_directories(folder_ / "other");
  std::ofstream(folder_ / "other" / "CMakeLists.txt") << "cmake_minimum_required(VERSION 3.25)\n"
                                                         "project(other LANGUAGES NONE)\n"
                                                         "find_package(reprise 9.1 REQUIRED)\n";
  Outcome outcome = run_shell("cmake -S " + path("other") + " -B " + path("build") +
                              " -DCMAKE_PREFIX_PATH=" + path("package") + " 2>&1");
  EXPECT_NE(outcome.code, 0);
  EXPECT_PRED2(contains, outcome.text, "compatible with requested version \"9.1\"");
  EXPECT_PRED2(contains, outcome.text, "reprise-config.cmake, version: ");
}

}  // namespace
}  // namespace reprise
