#include "data/atomic_file.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "core/error.h"
#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace testing;

TEST(AtomicFile, WritesAndReplaces) {
  TempFolder folder;
  write_file_atomically(folder / "a", "one");
  EXPECT_EQ(file_text(folder / "a"), "one");
  write_file_atomically(folder / "a", [](FileWriter& file) {
    file.write("two ");
    file.write("pieces");
    EXPECT_EQ(file.written(), 10);
  });
  EXPECT_EQ(file_text(folder / "a"), "two pieces");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(AtomicFile, AFailureLeavesTheOldFileAndNothingElse) {
  TempFolder folder;
  write_file_atomically(folder / "a", "old");
  EXPECT_THROW(write_file_atomically(folder / "a",
                                     [](FileWriter& file) {
                                       file.write("half");
                                       throw std::runtime_error("stop");
                                     }),
               std::runtime_error);
  EXPECT_EQ(file_text(folder / "a"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(AtomicFile, AFullDiskIsAnIoErrorAndChangesNothing) {
  TempFolder folder;
  write_file_atomically(folder / "a", "old");
  // A limit on the size of files makes write() fail as a full disk does. It is set in a child, so that it can hurt
  // nothing else.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file_atomically(folder / "a", std::string(1'000'000, 'x'));
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::io ? 42 : 43);
    }
    ::_exit(44);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_EQ(file_text(folder / "a"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(AtomicFile, AMissingOrReadOnlyFolderIsAnIoErrorThatNamesIt) {
  TempFolder folder;
  expect_error(ErrorKind::io, {"missing"}, [&] { write_file_atomically(folder / "missing/a", "x"); });
  expect_error(ErrorKind::io, {"/proc/"}, [&] { write_file_atomically("/proc/reprise-test", "x"); });
}

TEST(AtomicFile, ReplacesWhatAKilledWriterLeftAndFollowsNoLink) {
  TempFolder folder;
  write_text(folder / "victim", "safe");
  std::filesystem::create_symlink(folder / "victim", folder / "a.partial");
  write_file_atomically(folder / "a", "new");
  EXPECT_EQ(file_text(folder / "a"), "new");
  EXPECT_EQ(file_text(folder / "victim"), "safe");
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(AtomicFile, AWriterKilledAtAnyMomentLeavesAWholeFile) {
  TempFolder folder;
  const std::string old_text(300'000, 'o'), new_text(300'000, 'n');
  for (int round = 0; round < 12; ++round) {
    write_file_atomically(folder / "a", old_text);
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        write_file_atomically(folder / "a", new_text);
        write_file_atomically(folder / "a", old_text);
      }
    }
    ::usleep(static_cast<useconds_t>(500 + 1700 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string text = file_text(folder / "a");
    EXPECT_TRUE(text == old_text || text == new_text) << text.size();
  }
}

}  // namespace
}  // namespace reprise
