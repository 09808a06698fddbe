#include "core/byte_hash.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace reprise
