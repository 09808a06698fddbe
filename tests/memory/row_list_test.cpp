#include "memory/row_list.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace reprise {
namespace {

using ByteRun = Run;  // inside a test body, Run is a member of the test class

std::vector<std::byte> numbered(std::int64_t count) {
  std::vector<std::byte> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 31 + i / 251);
  return out;
}

RC_GTEST_PROP(RowListProperty, PackSwapAndUnpackTouchExactlyTheRegion, ()) {
  std::int64_t unit = *rc::gen::element<std::int64_t>(1, 2, 3, 4, 12, 64, 100);
  bool rows = *rc::gen::arbitrary<bool>();
  std::int64_t row = rows ? 3 : 1;
  std::vector<ByteRun> runs;
  for (int i = *rc::gen::inRange(1, 30); i > 0; --i) {
    std::int64_t lo = row * *rc::gen::inRange<std::int64_t>(0, 60);
    std::int64_t count = rows ? row : *rc::gen::inRange<std::int64_t>(1, 20);
    runs.push_back({lo * unit, (lo + count) * unit});
  }
  Region region = Region::from_runs(runs);
  std::vector<std::byte> storage = numbered(200 * unit), before = storage, expected;
  for (const ByteRun& run : region.runs())
    expected.insert(expected.end(), &storage[run.lo], &storage[run.lo] + (run.hi - run.lo));
  RowList list = list_rows(region.runs());
  RC_ASSERT(list.data_bytes == region.bytes());
  RC_ASSERT(list.bytes() <= (region.is_span() ? 0 : static_cast<std::int64_t>(region.run_count()) * 8));
  std::vector<std::byte> block(static_cast<std::size_t>(list.data_bytes + list.bytes()));
  pack_rows(list, region.runs(), storage.data(), block.data());
  RC_ASSERT(std::equal(expected.begin(), expected.end(), block.begin()));
  for (std::byte& byte : storage) byte = ~byte;
  std::vector<std::byte> after = storage;
  swap_rows(list, storage.data(), block.data());
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(storage.size()); ++at) {
    bool inside = region.contains(Region::span(at, at + 1));
    RC_ASSERT(storage[static_cast<std::size_t>(at)] == (inside ? before : after)[static_cast<std::size_t>(at)]);
  }
  swap_rows(list, storage.data(), block.data());
  RC_ASSERT(storage == after);
  unpack_rows(list, block.data(), storage.data());
  for (const ByteRun& run : region.runs()) {
    RC_ASSERT(std::equal(&storage[run.lo], &storage[run.lo] + (run.hi - run.lo), &before[run.lo]));
  }
}

TEST(RowList, ASpanNeedsNone) {
  RowList list = list_rows(Region::span(100, 1000).runs());
  EXPECT_EQ(list.bytes(), 0);
  EXPECT_EQ(list.base, 100);
}

TEST(RowList, RowsOfOneWidthTakeFourBytesEach) {
  RowList list = list_rows(Region::rows(8, 688, std::vector<std::int64_t>{3, 9, 10, 20}).runs());
  EXPECT_EQ(list.width, 688);
  EXPECT_EQ(list.bytes(), 4 * 4);
}

TEST(RowList, LongRunsTakeStartAndLength) {
  std::vector<ByteRun> runs{{0, 400}, {404, 1000}, {1004, 1012}};
  RowList list = list_rows(runs);
  EXPECT_EQ(list.width, 0);
  EXPECT_EQ(list.bytes(), 3 * 8);
}

TEST(RowList, UnitsReachBeyondFourGigabytesAndWideEntriesBeyondThat) {
  std::int64_t far = std::int64_t{1} << 40;
  RowList rows = list_rows(std::vector<ByteRun>{{0, 4096}, {far, far + 4096}});
  EXPECT_FALSE(rows.wide);
  EXPECT_EQ(rows.bytes(), 2 * 4);
  RowList odd = list_rows(std::vector<ByteRun>{{0, 1}, {far, far + 1}});
  EXPECT_TRUE(odd.wide);
  EXPECT_EQ(odd.bytes(), 2 * 8);
}

TEST(RowList, LargeBlocksAreMovedWholeByAnyNumberOfThreads) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < 6000; ++i) rows.push_back(2 * i + i % 2);
  Region region = Region::rows(0, 512, rows);
  std::vector<std::byte> storage = numbered(12001 * 512), before = storage;
  RowList list = list_rows(region.runs());
  std::vector<std::byte> block(static_cast<std::size_t>(list.data_bytes + list.bytes()));
  pack_rows(list, region.runs(), storage.data(), block.data());
  std::fill(storage.begin(), storage.end(), std::byte{0});
  swap_rows(list, storage.data(), block.data());
  for (const ByteRun& run : region.runs())
    ASSERT_TRUE(std::equal(&storage[run.lo], &storage[run.lo] + 512, &before[run.lo]));
  std::vector<std::byte> to(before.size());
  copy_span(before.data(), to.data(), static_cast<std::int64_t>(to.size()));
  EXPECT_EQ(to, before);
  swap_span(storage.data(), to.data(), static_cast<std::int64_t>(to.size()));
  EXPECT_EQ(storage, before);
}

}  // namespace
}  // namespace reprise
