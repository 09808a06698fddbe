#include "memory/dry_allocator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/error.h"
#include "memory/arena.h"
#include "memory/memory.h"

namespace reprise {
namespace {

RC_GTEST_PROP(DryAllocator, MetersAndRefusesExactlyLikeTheArena, ()) {
  Meter wet_meter, dry_meter;
  Arena wet(wet_meter, 64 << 20);
  DryAllocator dry(dry_meter);
  std::int64_t budget = *rc::gen::element(0, 20000, 100000);
  wet_meter.set_budget(budget);
  dry_meter.set_budget(budget);
  struct Pair {
    Allocation wet, dry;
    Category category;
  };
  std::vector<Pair> live;
  int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    if (live.empty() || *rc::gen::inRange(0, 3) > 0) {
      std::int64_t bytes = *rc::gen::inRange(0, 30000);
      auto category = static_cast<Category>(*rc::gen::inRange(0, kCategoryCount));
      bool refused = false;
      Pair pair{{}, {}, category};
      try {
        pair.wet = wet.allocate(bytes, category);
      } catch (const Error&) {
        refused = true;
      }
      if (refused) {
        RC_ASSERT_THROWS_AS(dry.allocate(bytes, category), Error);
        continue;
      }
      pair.dry = dry.allocate(bytes, category);
      RC_ASSERT(pair.dry.data == nullptr);
      RC_ASSERT(pair.dry.charged == pair.wet.charged);
      live.push_back(pair);
    } else {
      std::size_t at = static_cast<std::size_t>(*rc::gen::inRange(0, 1000)) % live.size();
      wet.release(live[at].wet, live[at].category);
      dry.release(live[at].dry, live[at].category);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
    RC_ASSERT(dry_meter.snapshot().live == wet_meter.snapshot().live);
    RC_ASSERT(dry_meter.snapshot().peak == wet_meter.snapshot().peak);
    RC_ASSERT(dry_meter.snapshot().at_peak == wet_meter.snapshot().at_peak);
    RC_ASSERT(dry_meter.peak() == wet_meter.peak());
    RC_ASSERT(dry_meter.snapshot().events == wet_meter.snapshot().events);
  }
  for (const Pair& pair : live) {
    wet.release(pair.wet, pair.category);
    dry.release(pair.dry, pair.category);
  }
  RC_ASSERT(dry_meter.live() == 0);
}

TEST(DryAllocator, NamesItsLargestBlocks) {
  Meter meter;
  DryAllocator dry(meter);
  dry.allocate(100, Category::state);
  Allocation big = dry.allocate(5000, Category::activations);
  dry.allocate(100, Category::state);
  auto largest = dry.largest_live(2);
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_EQ(largest[0].bytes, 5056);
  EXPECT_EQ(largest[0].category, Category::activations);
  dry.release(big, Category::activations);
  largest = dry.largest_live(9);
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_EQ(largest[1].bytes, 128);
}

TEST(Memory, IsEitherDryOrHoldsBytes) {
  Memory wet({.budget = 4096, .timeline = true});
  Memory dry({.budget = 4096, .timeline = true, .dry = true});
  EXPECT_FALSE(wet.is_dry());
  EXPECT_TRUE(dry.is_dry());
  EXPECT_EQ(dry.arena(), nullptr);
  ASSERT_NE(wet.arena(), nullptr);
  for (Memory* memory : {&wet, &dry}) {
    Allocation block = memory->allocator().allocate(100, Category::data);
    EXPECT_EQ(block.data == nullptr, memory == &dry);
    EXPECT_EQ(memory->meter().live(Category::data), 128);
    EXPECT_EQ(memory->meter().timeline().size(), 1u);
    EXPECT_THROW(memory->allocator().allocate(4096, Category::data), Error);
    memory->allocator().release(block, Category::data);
    EXPECT_EQ(memory->meter().live(), 0);
  }
}

}  // namespace
}  // namespace reprise
