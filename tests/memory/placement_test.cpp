#include "memory/placement.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace reprise {
namespace {

/// First fit over a plain map of used blocks: slow, and easy to believe.
class SlowPlacement {
 public:
  std::int64_t place(std::int64_t size) {
    std::int64_t at = 0;
    for (const auto& [offset, used] : used_) {
      if (offset - at >= size) break;
      at = offset + used;
    }
    used_[at] = size;
    extent_ = std::max(extent_, at + size);
    return at;
  }
  void free(std::int64_t offset) { used_.erase(offset); }
  std::int64_t extent() const { return extent_; }
  std::int64_t free_runs() const {
    std::int64_t runs = 0, at = 0;
    for (const auto& [offset, size] : used_) {
      runs += offset > at;
      at = offset + size;
    }
    return runs + (extent_ > at);
  }

 private:
  std::map<std::int64_t, std::int64_t> used_;
  std::int64_t extent_ = 0;
};

std::int64_t place(Placement& placement, std::int64_t size) {
  placement.reserve_one();
  return placement.place(size, BlockInfo{.bytes = size});
}

RC_GTEST_PROP(Placement, GivesTheLowestAddressThatFits, ()) {
  Placement fast(std::int64_t{1} << 40);
  SlowPlacement slow;
  std::vector<std::int64_t> live;
  auto steps = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>());
  int grow = *rc::gen::inRange(3, 8);  // of ten steps, how many allocate
  for (std::uint32_t word : steps) {
    for (std::uint32_t k = 0; k < 8; ++k) {  // several steps from each random word
      std::uint32_t r = word * (2 * k + 1) ^ (word >> (k + 3));
      if (live.empty() || static_cast<int>(r % 10) < grow) {
        std::int64_t size = 64 * (1 + (r >> 8) % (r % 3 == 0 ? 100 : 6));
        std::int64_t at = place(fast, size);
        RC_ASSERT(at == slow.place(size));
        RC_ASSERT(fast.find(at) != nullptr);
        RC_ASSERT(fast.find(at)->bytes == size);
        live.push_back(at);
      } else {
        std::size_t i = (r >> 8) % live.size();
        fast.free(live[i]);
        slow.free(live[i]);
        RC_ASSERT(fast.find(live[i]) == nullptr);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
      }
      RC_ASSERT(fast.extent() == slow.extent());
      RC_ASSERT(fast.free_block_count() == slow.free_runs());
    }
  }
  for (std::int64_t at : live) fast.free(at);
  RC_ASSERT(fast.free_block_count() == (steps.empty() ? 0 : 1));
  if (fast.extent() > 0) RC_ASSERT(place(fast, fast.extent()) == 0);  // all of it is one block again
}

RC_GTEST_PROP(Placement, GivesTheAddressAskedForIfItIsFree, ()) {
  Placement placement(1 << 20);
  std::map<std::int64_t, std::int64_t> used;  // offset to end
  std::int64_t extent = 0;
  for (std::uint32_t word : *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>())) {
    for (std::uint32_t k = 0; k < 8; ++k) {
      std::uint32_t r = word * (2 * k + 1) ^ (word >> (k + 3));
      if (!used.empty() && r % 3 == 0) {
        auto it = std::next(used.begin(), static_cast<std::ptrdiff_t>((r >> 8) % used.size()));
        placement.free(it->first);
        used.erase(it);
        continue;
      }
      std::int64_t size = 64 * (1 + (r >> 16) % 9), wanted = 64 * ((r >> 4) % 200);
      bool free = std::none_of(used.begin(), used.end(),
                               [&](auto& block) { return block.first < wanted + size && wanted < block.second; });
      placement.reserve_one();
      std::int64_t at = r % 3 == 1 ? placement.place(size, BlockInfo{.bytes = size})
                                   : placement.place_at(wanted, size, BlockInfo{.bytes = size});
      if (r % 3 != 1) RC_ASSERT(at == (free ? wanted : -1));
      if (at < 0) continue;
      for (auto [offset, end] : used) RC_ASSERT(end <= at || at + size <= offset);
      used[at] = at + size;
      extent = std::max(extent, at + size);
      RC_ASSERT(placement.extent() == extent);
      RC_ASSERT(placement.find(at)->bytes == size);
      std::int64_t runs = 0, last = 0;
      for (auto [offset, end] : used) {
        runs += offset > last;
        last = end;
      }
      RC_ASSERT(placement.free_block_count() == runs + (extent > last));
      RC_ASSERT(placement.used_end() == last);
    }
  }
  for (auto [offset, end] : used) placement.free(offset);
  RC_ASSERT(placement.used_end() == 0);
  if (extent > 0) RC_ASSERT(place(placement, extent) == 0);  // all of it is one block again
}

TEST(Placement, AFullRangeRefusesAndGoesOn) {
  Placement placement(640);
  EXPECT_EQ(place(placement, 320), 0);
  EXPECT_EQ(place(placement, 384), -1);
  EXPECT_EQ(place(placement, 320), 320);
  EXPECT_EQ(place(placement, 64), -1);
  placement.free(320);
  EXPECT_EQ(place(placement, 384), -1) << "the free tail may grow only to the end of the range";
  EXPECT_EQ(place(placement, 64), 320);
}

TEST(Placement, GrowthCanBeTakenBack) {
  Placement placement(1 << 20);
  place(placement, 128);
  std::int64_t before = placement.extent();
  placement.free(place(placement, 4096));
  placement.shrink_to(before);
  EXPECT_EQ(placement.extent(), 128);
  EXPECT_EQ(placement.free_block_count(), 0);
  std::int64_t hole = place(placement, 64);
  placement.free(hole);  // a free tail below the new growth
  before = placement.extent();
  placement.free(place(placement, 4096));
  placement.shrink_to(before);
  EXPECT_EQ(placement.extent(), 192);
  EXPECT_EQ(place(placement, 64), 128);
}

TEST(Placement, KeepsWhatIsKnownOfEveryLiveBlock) {
  Placement placement(1 << 22);
  std::map<std::int64_t, std::int64_t> expected, seen;
  for (std::int64_t i = 1; i <= 300; ++i) expected[place(placement, 64 * i)] = 64 * i;
  for (auto it = expected.begin(); it != expected.end();) {
    if (it->second % 192 == 0) {
      EXPECT_EQ(placement.free(it->first).bytes, it->second);
      it = expected.erase(it);
    } else {
      ++it;
    }
  }
  placement.for_each_used([&](std::int64_t offset, const BlockInfo& info) { seen[offset] = info.bytes; });
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace reprise
