#include "data/atomic_file.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <thread>

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

TEST(OutputFile, LeavesDevicesLinksAndPipesAsTheyAre) {
  TempFolder folder;
  write_output(folder / "a", "one");
  std::filesystem::create_symlink("a", folder / "link");
  std::filesystem::create_symlink("not there", folder / "dangling");
  EXPECT_EQ(write_output(folder / "link", "two!"), 4);
  write_output(folder / "dangling", "three");
  EXPECT_EQ(file_text(folder / "a"), "two!");
  EXPECT_EQ(file_text(folder / "not there"), "three");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  write_output("/dev/null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::thread reader([&] { EXPECT_EQ(file_text(folder / "pipe"), "through"); });
  write_output(folder / "pipe", "through");
  reader.join();
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
}

TEST(OutputFile, AFullDeviceIsAnIoErrorAndAWrongPlaceTheUsersMistake) {
  TempFolder folder;
  if (std::filesystem::exists("/dev/full")) {
    expect_error(ErrorKind::io, {"/dev/full"}, [] { write_output("/dev/full", "x"); });
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  }
  expect_error(ErrorKind::user, {"it is a folder"}, [&] { check_output(folder.path(), "plot"); });
  expect_error(ErrorKind::user, {"there is no folder"}, [&] { check_output(folder / "no" / "x.svg", "plot"); });
  write_text(folder / "read", "kept");
  std::filesystem::create_symlink("read", folder / "link");
  for (const char* name : {"read", "link"}) {
    expect_error(ErrorKind::user, {"[plot] cannot write ", name, ": it is read from"}, [&] {
      check_output(folder / name, "plot", {"", folder / "none", folder / "read"});
    });
  }
  check_output(folder / "read", "plot", {folder / "none"});
  check_output("/dev/null", "plot", {"/dev/null"});
  check_output(folder / "new", "plot");
  check_output("-", "plot");
  check_output("", "plot");
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
