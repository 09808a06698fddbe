#include "data/folder.h"

#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"

namespace {
int entries_until_failure = -1;  // negative: the disk is well
}  // namespace

/// What the standard library reads folders with: that of the C library, until the disk fails.
extern "C" dirent* readdir(DIR* folder) {
  static auto* real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  if (entries_until_failure < 0 || entries_until_failure-- > 0) return real(folder);
  errno = EIO;
  return nullptr;
}

namespace reprise {
namespace {

namespace fs = std::filesystem;

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"b", "c", "a"}) testing::write_text(folder_ / name, name);
  }
  void TearDown() override { entries_until_failure = -1; }
  std::vector<fs::path> all() const { return {folder_ / "a", folder_ / "b", folder_ / "c"}; }

  testing::TempFolder folder_;
};

TEST_F(FolderTest, WhatIsInItIsListedByName) {
  EXPECT_EQ(paths_in(folder_.path(), "test"), all());
  std::error_code error;
  EXPECT_EQ(paths_in(folder_.path(), error), all());
  EXPECT_FALSE(error);
  EXPECT_EQ(paths_in(folder_.path(), error, 2).size(), 2u);
}

TEST_F(FolderTest, ADiskThatFailsOnTheWayIsNoExceptionOfTheStandardLibrary) {
  for (int good : {0, 1, 3}) {
    std::error_code error;
    entries_until_failure = good;
    EXPECT_LE(paths_in(folder_.path(), error).size(), static_cast<std::size_t>(good));
    EXPECT_EQ(error, std::errc::io_error) << "after " << good << " entries";
    entries_until_failure = good;
    testing::expect_error(ErrorKind::io, {"[test] cannot list " + folder_.path().string() + ": "},
                          [&] { paths_in(folder_.path(), "test"); });
  }
}

TEST_F(FolderTest, WhatIsNoFolderIsSaidWithItsPath) {
  for (const fs::path& path : {folder_ / "none", folder_ / "a"}) {
    testing::expect_error(ErrorKind::io, {"[test] cannot list " + path.string() + ": "},
                          [&] { paths_in(path, "test"); });
  }
}

}  // namespace
}  // namespace reprise
