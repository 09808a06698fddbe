// Files of text that anybody may name: each kind of wrong path gives its error, soon and in little memory.
#include "data/text_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace testing;

TEST(TextFile, IsReadWholeUpToItsLimit) {
  TempFolder folder;
  std::string text(200'000, 'x');
  write_text(folder / "a", text);
  write_text(folder / "empty", "");
  EXPECT_EQ(read_text_file(folder / "a", "t", 200'000), text);
  EXPECT_EQ(read_text_file(folder / "empty", "t", 0), "");
  expect_error(ErrorKind::user, {"[t] ", "at most 199999 bytes", "/a"},
               [&] { read_text_file(folder / "a", "t", 199'999); });
}

TEST(TextFile, WhatIsNoFileIsRefusedWithTheReason) {
  TempFolder folder;
  expect_error(ErrorKind::user, {"[t] cannot open ", "missing: No such file"},
               [&] { read_text_file(folder / "missing", "t", 9); });
  expect_error(ErrorKind::user, {"Is a directory"}, [&] { read_text_file(folder.path(), "t", 9); });
  expect_error(ErrorKind::user, {"at most 1000 bytes"}, [&] { read_text_file("/dev/zero", "t", 1000); });
  std::filesystem::create_symlink("loop", folder / "loop");
  expect_error(ErrorKind::user, {"symbolic links"}, [&] { read_text_file(folder / "loop", "t", 9); });
  write_text(folder / "closed", "x");
  std::filesystem::permissions(folder / "closed", std::filesystem::perms::none);
  if (::access((folder / "closed").c_str(), R_OK) == 0) GTEST_SKIP() << "this user may read everything";
  expect_error(ErrorKind::user, {"closed: Permission denied"}, [&] { read_text_file(folder / "closed", "t", 9); });
}

TEST(TextFile, AFileOfATerabyteCostsNoMemory) {
  TempFolder folder;
  write_text(folder / "huge", "x");
  std::error_code error;
  std::filesystem::resize_file(folder / "huge", std::uintmax_t{1} << 40, error);
  if (error) GTEST_SKIP() << "no file of that size here: " << error.message();
  expect_error(ErrorKind::user, {"at most 1000000 bytes"}, [&] { read_text_file(folder / "huge", "t", 1'000'000); });
  expect_error(ErrorKind::user, {"lines of at most 1000000 bytes"},
               [&] { read_lines(folder / "huge", "t", 1'000'000, [](std::string&, bool) {}); });
}

TEST(TextFile, APipeIsReadWhenSomebodyWritesAndRefusedWhenNobodyDoes) {
  TempFolder folder;
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  auto start = std::chrono::steady_clock::now();
  expect_error(ErrorKind::user, {"a pipe that nobody writes to"}, [&] { read_text_file(pipe, "t", 100); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  std::thread writer([&] {
    int out = ::open(pipe.c_str(), O_WRONLY);
    EXPECT_EQ(::write(out, "seed: ", 6), 6);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // slower than the reader
    EXPECT_EQ(::write(out, "1\n", 2), 2);
    ::close(out);
  });
  EXPECT_EQ(read_text_file(pipe, "t", 100), "seed: 1\n");
  writer.join();
}

TEST(TextFile, LinesComeOneByOneAndTheLastMayLackItsEnd) {
  TempFolder folder;
  std::string long_line(100'000, 'y');
  write_text(folder / "a", "one\n\n" + long_line + "\ntorn");
  std::vector<std::pair<std::string, bool>> lines;
  read_lines(folder / "a", "t", 100'000, [&](std::string& line, bool whole) { lines.emplace_back(line, whole); });
  EXPECT_EQ(lines,
            (std::vector<std::pair<std::string, bool>>{{"one", true}, {"", true}, {long_line, true}, {"torn", false}}));
}

}  // namespace
}  // namespace reprise
