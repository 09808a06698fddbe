// Processes that benches and studies start: what they said, how they ended, what they took.
#include "tools/process/child.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

#include "tests/support/errors.h"
#include "tools/bench/child.h"

namespace reprise::process {
namespace {

TEST(ChildProcess, WhatItReadsAndSaysAndHowItEndsAreKept) {
  Child child({"sh", "-c", "cat; echo no >&2; exit 3"}, "yes", "test");
  const Ended& ended = child.wait();
  EXPECT_EQ(ended.output, "yes");
  EXPECT_EQ(ended.errors, "no\n");
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.signal, 0);
  EXPECT_GT(ended.wall, 0);
  EXPECT_GT(ended.peak_mib, 0);
  EXPECT_TRUE(child.poll());
}

TEST(ChildProcess, ASignalThatEndsItIsTold) {
  const Ended ended = Child({"sh", "-c", "kill -9 $$"}, "", "test").wait();
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_EQ(ended.code, 128 + SIGKILL);
}

TEST(ChildProcess, AProgramThatIsNotThereIsTheUsersMistake) {
  reprise::testing::expect_error(ErrorKind::user, {"[test] cannot start /no/such/program: "},
                                 [] { Child({"/no/such/program"}, "", "test"); });
}

TEST(ChildProcess, OneThatIsNotAwaitedIsKilled) {
  auto start = std::chrono::steady_clock::now();
  int watch = -1;
  {
    Child child({"sleep", "60"}, "", "test");
    EXPECT_FALSE(child.poll());
    watch = child.watch();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << "descriptor " << watch;
}

/// Where a process ignores SIGCHLD the system keeps no account of those that it started.
class Unaccounted {
 public:
  Unaccounted() : before_(::signal(SIGCHLD, SIG_IGN)) {}
  ~Unaccounted() { ::signal(SIGCHLD, before_); }

 private:
  void (*before_)(int);
};

TEST(ChildProcess, OneOfWhichNothingIsKnownHasNotSucceeded) {
  Unaccounted unaccounted;
  const Ended ended = Child({"echo", "done"}, "", "test").wait();
  EXPECT_EQ(ended.code, -1);
  EXPECT_EQ(ended.output, "done\n");
  EXPECT_NE(bench::run_child({"true"}).code, 0);
}

}  // namespace
}  // namespace reprise::process
