#include "core/region.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "core/error.h"

namespace reprise {
namespace {

using Bytes = std::set<std::int64_t>;
using ByteRun = Run;  // inside a test body, Run is a member of the test class

Bytes bytes_of(const Region& region) {
  Bytes out;
  for (const Run& run : region.runs()) {
    for (std::int64_t at = run.lo; at < run.hi; ++at) out.insert(at);
  }
  return out;
}

/// Sorted, disjoint, non-touching, no empty run; count and bytes agree.
void require_canonical(const Region& region) {
  std::int64_t total = 0, end = std::numeric_limits<std::int64_t>::min();
  for (const Run& run : region.runs()) {
    RC_ASSERT(run.lo < run.hi);
    RC_ASSERT(run.lo > end);
    end = run.hi;
    total += run.hi - run.lo;
  }
  RC_ASSERT(total == region.bytes());
  RC_ASSERT(region.runs().size() == region.run_count());
  RC_ASSERT(region.empty() == (total == 0));
}

void require_bytes(const Region& region, const Bytes& expected) {
  require_canonical(region);
  RC_ASSERT(bytes_of(region) == expected);
}

Region any_region() {
  std::vector<ByteRun> runs;
  int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    std::int64_t lo = *rc::gen::inRange(0, 90);
    runs.push_back({lo, lo + *rc::gen::inRange(-1, 9)});
  }
  return Region::from_runs(runs);
}

RC_GTEST_PROP(Region, SetOperationsMatchASetOfBytes, ()) {
  Region a = any_region(), b = any_region();
  Bytes x = bytes_of(a), y = bytes_of(b), both, either = x, rest;
  either.insert(y.begin(), y.end());
  for (std::int64_t at : x) (y.contains(at) ? both : rest).insert(at);
  require_bytes(unite(a, b), either);
  require_bytes(intersect(a, b), both);
  require_bytes(subtract(a, b), rest);
  RC_ASSERT(a.overlaps(b) == !both.empty());
  RC_ASSERT(b.overlaps(a) == !both.empty());
  RC_ASSERT(a.contains(b) == (both == y));
  RC_ASSERT((a == b) == (x == y));
  RC_ASSERT(unite(intersect(a, b), subtract(a, b)) == a);
  if (!x.empty()) RC_ASSERT((a.cover() == ByteRun{*x.begin(), *x.rbegin() + 1}));
}

RC_GTEST_PROP(Region, AFewRunsAgainstManyMatchASetOfBytes, ()) {
  std::vector<ByteRun> many;
  for (std::int64_t at = 0; at < 3000;) {
    std::int64_t hi = at + *rc::gen::inRange(1, 12);
    many.push_back({at, hi});
    at = hi + *rc::gen::inRange(1, 12);
  }
  std::vector<ByteRun> few;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    std::int64_t lo = *rc::gen::inRange(-20, 3020);
    few.push_back({lo, lo + *rc::gen::element(1, 7, 60, 900)});
  }
  Region a = Region::from_runs(many), b = Region::from_runs(few);
  Bytes x = bytes_of(a), y = bytes_of(b), both, either = x, only_a, only_b;
  either.insert(y.begin(), y.end());
  for (std::int64_t at : x) (y.contains(at) ? both : only_a).insert(at);
  for (std::int64_t at : y)
    if (!x.contains(at)) only_b.insert(at);
  for (bool swap : {false, true}) {
    require_bytes(swap ? unite(b, a) : unite(a, b), either);
    require_bytes(swap ? intersect(b, a) : intersect(a, b), both);
  }
  require_bytes(subtract(a, b), only_a);
  require_bytes(subtract(b, a), only_b);
  RC_ASSERT(a.overlaps(b) == !both.empty());
  RC_ASSERT(a.contains(b) == only_b.empty());
}

RC_GTEST_PROP(Region, BlockMatchesWalkingEveryElement, ()) {
  Shape shape;
  Strides strides;
  int rank = *rc::gen::inRange(0, 5);
  for (int k = 0; k < rank; ++k) {
    shape.push_back(*rc::gen::inRange(0, 4));
    strides.push_back(*rc::gen::inRange(-13, 14));
  }
  std::int64_t offset = 200, item = *rc::gen::element(1, 4, 8);
  Bytes expected;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    std::int64_t at = offset, left = i;
    for (int k = rank - 1; k >= 0; --k) {
      at += left % shape[k] * strides[k];
      left /= shape[k];
    }
    for (std::int64_t b = 0; b < item; ++b) expected.insert(at * item + b);
  }
  require_bytes(Region::block(offset, shape, strides, item), expected);
}

RC_GTEST_PROP(Region, RowsMatchTheirBytesInAnyOrder, ()) {
  auto rows = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 400));
  std::int64_t base = *rc::gen::inRange(0, 50), width = *rc::gen::inRange(0, 9);
  Bytes expected;
  for (std::int64_t r : rows) {
    for (std::int64_t b = 0; b < width; ++b) expected.insert(base + r * width + b);
  }
  require_bytes(Region::rows(base, width, rows), expected);
}

TEST(Region, ContiguousInnerAxesAreOneRun) {
  // Columns 2..5 of a [3, 4, 10] f32 array whose last two axes are contiguous.
  Region whole = Region::block(0, {3, 4, 10}, {40, 10, 1}, 4);
  EXPECT_EQ(whole, Region::span(0, 480));
  Region middle = Region::block(40, {1, 4, 10}, {40, 10, 1}, 4);
  EXPECT_EQ(middle, Region::span(160, 320));
  Region columns = Region::block(2, {3, 4, 3}, {40, 10, 1}, 4);
  EXPECT_EQ(columns.run_count(), 12u);
  EXPECT_EQ(columns.bytes(), 144);
  EXPECT_EQ(Region::block(0, {4, 3}, {1, 4}, 4), Region::span(0, 48)) << "a transposed view of a whole array";
}

TEST(Region, BroadcastAndReversedAxesNameTheirBytesOnce) {
  EXPECT_EQ(Region::block(5, {8}, {0}, 4), Region::span(20, 24));
  EXPECT_EQ(Region::block(7, {8}, {-1}, 4), Region::span(0, 32));
  EXPECT_EQ(Region::block(0, {2, 0}, {1, 1}, 4), Region());
  EXPECT_EQ(Region::block(3, {}, {}, 8), Region::span(24, 32));
}

TEST(Region, AdjacentRowsMerge) {
  std::vector<std::int64_t> rows{7, 3, 4, 3, 5};
  Region region = Region::rows(0, 16, rows);
  ASSERT_EQ(region.run_count(), 2u);
  EXPECT_EQ(region.runs()[0], (ByteRun{48, 96}));
  EXPECT_EQ(region.runs()[1], (ByteRun{112, 128}));
  EXPECT_EQ(region.describe(), "2 runs in [48, 128), 64 bytes");
}

TEST(Region, ANegativeRowIsRefused) {
  std::vector<std::int64_t> rows{2, -1};
  EXPECT_THROW(Region::rows(0, 16, rows), Error);
}

TEST(Region, ASmallWriteAgainstALargeReadIsFast) {
  std::vector<ByteRun> many, few;
  for (std::int64_t i = 0; i < 60000; ++i) many.push_back({i * 128, i * 128 + 64});
  for (std::int64_t i = 0; i < 1000; ++i) few.push_back({i * 7680 + 64, i * 7680 + 160});
  Region read = Region::from_runs(many), write = Region::from_runs(few);
  double micros = 1e9;  // the best of several, so that a busy machine does not fail the test
  for (int i = 0; i < 20; ++i) {
    auto start = std::chrono::steady_clock::now();
    std::int64_t hit = intersect(read, write).bytes();
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(hit, 1000 * 32);
    micros = std::min(micros, took.count());
  }
  EXPECT_LT(micros, 1000);
  RecordProperty("intersect_microseconds", static_cast<int>(micros));
}

}  // namespace
}  // namespace reprise
