// The solver beside Cbc, an integer programming solver from outside, on the same instances written as LP files.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "recompute/solver/lp_export.h"
#include "recompute/solver/solve.h"
#include "recompute/solver/synthetic.h"
#include "tests/recompute/solver/random_small.h"
#include "tests/support/temp_folder.h"

namespace reprise::solver {
namespace {

constexpr Allowed kKeepAll{true, false, false};

bool cbc_is_there() { return std::system("command -v cbc >/dev/null 2>&1") == 0; }

/// Runs Cbc as a child that is killed when it does not end by itself.
CbcAnswer ask_cbc(const std::string& lp, int seconds) {
  reprise::testing::TempFolder folder;
  std::filesystem::path file = folder / "plan.lp";
  reprise::testing::write_text(file, lp);
  std::string command = "timeout -k 1 " + std::to_string(seconds + 5) + " cbc " + file.string() + " -sec " +
                        std::to_string(seconds) + " -solve -quit 2>&1";
  std::string output;
  if (std::FILE* pipe = ::popen(command.c_str(), "r")) {
    char part[4096];
    while (std::size_t got = std::fread(part, 1, sizeof part, pipe)) output.append(part, got);
    ::pclose(pipe);
  }
  return read_cbc(output);
}

void compare(const Instance& instance, std::int64_t budget, const Allowed& allowed, int seconds, int& decided) {
  Solution ours = solve(instance, budget, allowed);
  CbcAnswer theirs = ask_cbc(to_lp(instance, budget, allowed), seconds);
  double slack = 1 + 1e-7 * static_cast<double>(ours.time_ns);
  if (theirs.infeasible) {
    EXPECT_FALSE(ours.feasible) << instance.name << ", budget " << budget;
    ++decided;
    return;
  }
  if (theirs.has_plan) {
    ASSERT_TRUE(ours.feasible) << instance.name << ", budget " << budget;
    EXPECT_LE(static_cast<double>(ours.time_ns), theirs.objective + slack) << instance.name << ", budget " << budget;
    EXPECT_LE(static_cast<double>(ours.lower_bound_ns), theirs.objective + slack) << instance.name;
  }
  if (ours.feasible) {
    EXPECT_GE(static_cast<double>(ours.time_ns), theirs.bound - slack) << instance.name;
  }
  decided += theirs.optimal ? 1 : 0;
}

TEST(Cbc, ItsNumbersAreReadAlikeInEveryLocale) {
  const std::string words =
      "Result - Stopped on time limit\n\nObjective value:                1234.75000000\n"
      "Lower bound:                    1.200500e+03\nGap:                            0.03\n";
  auto read = [&] {
    CbcAnswer answer = read_cbc(words);
    EXPECT_TRUE(answer.has_plan && !answer.optimal && !answer.infeasible);
    EXPECT_EQ(answer.objective, 1234.75);
    EXPECT_EQ(answer.bound, 1200.5);
    EXPECT_EQ(read_cbc("Objective value: none\n").objective, 0);
  };
  read();
  for (const char* commas : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {  // where one is installed
    if (std::setlocale(LC_NUMERIC, commas)) read();
  }
  std::setlocale(LC_NUMERIC, "C");
}

TEST(Cbc, FindsNoBetterPlanAndNoLowerBoundOnRandomInstances) {
  if (!cbc_is_there()) GTEST_SKIP() << "cbc is not installed (Debian package coinor-cbc)";
  int decided = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Instance instance = random_small(seed);
    std::int64_t low = smallest_budget(instance, {}).bytes, high = solve(instance, INT64_MAX / 4, {}).peak;
    compare(instance, low - 1 + static_cast<std::int64_t>(seed % 4) * (high - low) / 3, {}, 5, decided);
  }
  EXPECT_GE(decided, 25);
}

// Cbc must be bound by what the method allows: a bound of its own above our plan would show that it is not.
TEST(Cbc, IsAskedForTheSameMethod) {
  if (!cbc_is_there()) GTEST_SKIP() << "cbc is not installed (Debian package coinor-cbc)";
  int decided = 0, asked = 0;
  for (const Allowed& allowed : {Allowed{true, true, false}, Allowed{true, false, true}, Allowed{false, true, true}}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed, ++asked) {
      Instance instance = random_small(seed);
      std::int64_t low = smallest_budget(instance, allowed).bytes, high = solve(instance, INT64_MAX / 4, {}).peak;
      std::int64_t budget = std::max(low, low + static_cast<std::int64_t>(seed % 4) * (high - low) / 3);
      compare(instance, budget, allowed, 5, decided);
      Solution ours = solve(instance, budget, allowed);
      CbcAnswer theirs = ask_cbc(to_lp(instance, budget, allowed), 5);
      if (ours.proven && theirs.optimal) {
        EXPECT_NEAR(static_cast<double>(ours.time_ns), theirs.objective, 1 + 1e-7 * static_cast<double>(ours.time_ns));
      }
    }
  }
  EXPECT_GE(decided, asked * 3 / 4);
}

TEST(Cbc, FindsNoBetterPlanAndNoLowerBoundOnSteps) {
  if (!cbc_is_there()) GTEST_SKIP() << "cbc is not installed (Debian package coinor-cbc)";
  bool full = std::getenv("REPRISE_FULL") || std::getenv("REPRISE_SOAK");
  int decided = 0, asked = 0;
  for (int segments : full ? std::vector<int>{12, 25, 40, 80, 120, 200} : std::vector<int>{12, 25, 40}) {
    for (Sharing sharing : {Sharing::none, Sharing::local, Sharing::scattered}) {
      Instance instance = synthetic_step({.segments = segments,
                                          .sharing = sharing,
                                          .finer_options = segments % 3,
                                          .classes = 0.15,
                                          .seed = static_cast<std::uint64_t>(segments)});
      std::int64_t low = smallest_budget(instance, {}).bytes, high = solve(instance, INT64_MAX / 4, kKeepAll).peak;
      for (double share : {0.25, 0.6}) {
        auto budget = low + static_cast<std::int64_t>(share * static_cast<double>(high - low));
        compare(instance, budget, {}, full ? 60 : 5, decided);
        ++asked;
      }
    }
  }
  EXPECT_GE(decided, asked / 2) << "cbc hardly answered: the test is blind";
}

}  // namespace
}  // namespace reprise::solver
