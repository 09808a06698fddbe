#include "core/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace reprise {
namespace {

TEST(Error, UserAndConfigMistakesExitWithTwoAndFailuresWithOne) {
  for (ErrorKind kind : {ErrorKind::user, ErrorKind::config}) EXPECT_EQ(exit_code(kind), 2) << to_string(kind);
  for (ErrorKind kind : {ErrorKind::io, ErrorKind::device, ErrorKind::memory, ErrorKind::replay, ErrorKind::internal}) {
    EXPECT_EQ(exit_code(kind), 1) << to_string(kind);
  }
}

TEST(Error, EveryKindHasItsOwnName) {
  EXPECT_STREQ(to_string(ErrorKind::user), "user");
  EXPECT_STREQ(to_string(ErrorKind::config), "config");
  EXPECT_STREQ(to_string(ErrorKind::io), "io");
  EXPECT_STREQ(to_string(ErrorKind::device), "device");
  EXPECT_STREQ(to_string(ErrorKind::memory), "memory");
  EXPECT_STREQ(to_string(ErrorKind::replay), "replay");
  EXPECT_STREQ(to_string(ErrorKind::internal), "internal");
}

TEST(Error, FailFormatsItsArgumentsAndKeepsTheKind) {
  try {
    fail(ErrorKind::memory, "[{}] expected {} bytes, got {}", "arena", 64, 8);
    FAIL() << "fail() came back";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
    EXPECT_EQ(error.message(), "[arena] expected 64 bytes, got 8");
    EXPECT_STREQ(error.what(), "[arena] expected 64 bytes, got 8");
  }
}

TEST(Error, ContextLinesStackFromTheInnermostOutwards) {
  Error error(ErrorKind::replay, "[gather] index out of range");
  error.add_context("while replaying segment 3 (layer2.1)");
  error.add_context("in step 12");
  EXPECT_STREQ(error.what(), "[gather] index out of range\n  while replaying segment 3 (layer2.1)\n  in step 12");
  EXPECT_EQ(error.message(), "[gather] index out of range");
  ASSERT_EQ(error.context().size(), 2u);
  EXPECT_EQ(error.context()[0], "while replaying segment 3 (layer2.1)");
}

TEST(Error, ContextAddedOnTheWayOutStaysWithTheRethrownError) {
  try {
    try {
      fail(ErrorKind::io, "disk full");
    } catch (Error& error) {
      error.add_context("while writing a checkpoint");
      throw;
    }
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "disk full\n  while writing a checkpoint");
  }
}

TEST(Error, BracesInAnArgumentAreNotFormatted) {
  try {
    fail(ErrorKind::config, "unknown key {}", "{model}");
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "unknown key {model}");
  }
}

TEST(Error, AFailedSystemCallSaysWhatWasTriedAndWhy) {
  try {
    fail_errno("write file", "sync", "a/b.bin", ENOSPC);
    FAIL() << "a failed call passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.message(), "[write file] cannot sync a/b.bin: No space left on device");
  }
}

TEST(Error, ABrokenInvariantNamesPlaceAndCondition) {
  int calls = 0;
  REPRISE_INVARIANT(++calls == 1);
  EXPECT_EQ(calls, 1);
  try {
    REPRISE_INVARIANT(1 + 1 == 3);
    FAIL() << "a broken invariant passed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_NE(error.message().find("error_test.cpp"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("1 + 1 == 3"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace reprise
