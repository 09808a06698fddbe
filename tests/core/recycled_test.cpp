#include "core/recycled.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <thread>

namespace reprise {
namespace {

TEST(Recycled, WhatComesBackIsGivenAgain) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers see every block come from the heap";
#endif
  void* first = take_recycled(100);
  give_recycled(first, 100);
  void* second = take_recycled(128);  // of the same size, rounded up
  EXPECT_EQ(first, second);
  void* third = take_recycled(128);
  EXPECT_NE(second, third);
  give_recycled(second, 128);
  give_recycled(third, 128);
}

TEST(Recycled, AListKeepsItsNumbersHoweverItGrows) {
  for (int round = 0; round < 3; ++round) {
    RecycledVector<std::int64_t> list;
    for (std::int64_t i = 0; i < 100'000; ++i) list.push_back(i);
    EXPECT_EQ(std::accumulate(list.begin(), list.end(), std::int64_t{0}), 4'999'950'000);
  }
}

TEST(Recycled, SizesFromNothingToMoreThanIsKept) {
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{32}, std::size_t{33}, std::size_t{65} << 20}) {
    void* memory = take_recycled(bytes);
    ASSERT_NE(memory, nullptr);
    if (bytes > 0) static_cast<char*>(memory)[bytes - 1] = 1;
    give_recycled(memory, bytes);
  }
}

TEST(Recycled, AnotherThreadMayGiveBack) {
  RecycledVector<int> list(1000, 7);
  std::thread([list = std::move(list)] { EXPECT_EQ(list.back(), 7); }).join();
  RecycledVector<int> again(1000, 8);
  EXPECT_EQ(again.front(), 8);
}

}  // namespace
}  // namespace reprise
