#include "core/byte_hash.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <new>

namespace reprise {
namespace {

TEST(ByteHash, PiecesHaveTheHashOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 37 % 251);
  ByteHash hash;
  for (std::size_t at = 0, size = 1; at < bytes.size(); at += size, size = size * 3 % 701 + 1) {
    hash.add(std::string_view(bytes).substr(at, size));
  }
  EXPECT_EQ(hash.bytes(), bytes.size());
  EXPECT_EQ(hash.value(), hash_bytes(bytes));
  EXPECT_EQ(hash.text(), hash_text(hash_bytes(bytes)));
}

TEST(ByteHash, OneBitChangesIt) {
  EXPECT_NE(hash_bytes("segment"), hash_bytes("segmenu"));
  EXPECT_NE(hash_bytes(std::string_view("a\0", 2)), hash_bytes("a"));
}

TEST(ByteHash, IsXxh3WhateverTheBuild) {
  EXPECT_EQ(hash_text(hash_bytes("")), "2d06800538d394c2");  // as its specification says of no bytes
  EXPECT_EQ(ByteHash().text(), "2d06800538d394c2");
  EXPECT_EQ(hash_text(1), "0000000000000001");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// In a process of its own: 0 where a hash without memory says that there is none.
[[noreturn]] void hash_on_a_full_heap() {
  rlimit none{};
  ::setrlimit(RLIMIT_AS, &none);
  for (std::size_t bytes = 4096; bytes >= 256; bytes -= 16) {  // freed blocks of each size are kept apart
    void* volatile taken = nullptr;
    do taken = std::malloc(bytes);
    while (taken);
  }
  try {
    ByteHash hash;
  } catch (const std::bad_alloc&) {
    std::_Exit(0);
  }
  std::_Exit(1);
}

TEST(ByteHash, WithoutMemoryForItsStateItSaysSo) {
  EXPECT_EXIT(hash_on_a_full_heap(), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace reprise
