// Laying out blocks of known lifetimes: none overlap, little is lost, and the arena does as it was told.
#include "memory/placement_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "memory/memory.h"

namespace reprise {
namespace {

RC_GTEST_PROP(PlacementPlan, NoTwoBlocksShareABytesAtOneMoment, ()) {
  std::vector<BlockLife> lives;
  for (auto [size, begin, length] :
       *rc::gen::arbitrary<std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>>()) {
    std::int64_t end = length % 16 == 0 ? BlockLife::kNoEnd : begin + 1 + length % 16;
    lives.push_back({64 * (1 + size % 50), begin, end});
  }
  PlacementPlan plan = plan_placement(lives, 128);
  RC_ASSERT(plan.blocks.size() == lives.size());
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const PlacementPlan::Block& a = plan.blocks[i];
    RC_ASSERT(a.charged == lives[i].charged);
    RC_ASSERT((a.offset < 0) == (a.charged <= 128));
    if (a.offset < 0) continue;
    RC_ASSERT(a.offset % 64 == 0);
    for (std::size_t j = 0; j < i; ++j) {
      const PlacementPlan::Block& b = plan.blocks[j];
      bool together = lives[i].begin < lives[j].end && lives[j].begin < lives[i].end;
      RC_ASSERT(b.offset < 0 || !together || a.offset + a.charged <= b.offset || b.offset + b.charged <= a.offset);
    }
  }
}

/// A step of blocks that first fit lays out badly: small ones live on between large ones that go.
void run_step(Memory& memory) {
  constexpr std::int64_t kUnit = 64 * 1024;
  auto get = [&](std::int64_t units) { return memory.allocator().allocate(units * kUnit, Category::activations); };
  auto drop = [&](const Allocation& block) { memory.allocator().release(block, Category::activations); };
  Allocation large = get(4), kept = get(1);
  drop(large);
  Allocation larger = get(5);
  drop(kept);
  drop(larger);
}

PlacementPlan planned_step() {
  Memory dry({.dry = true});
  dry.dry()->record_lives();
  run_step(dry);
  std::vector<BlockLife> lives = dry.dry()->lives();
  EXPECT_EQ(lives.size(), 3u);
  EXPECT_EQ(lives[1].end, 4);  // after three requests and one release
  return plan_placement(lives, Arena::kSmallBytes);
}

TEST(PlacementPlan, TheOrderThatTakesFewerBytesIsTaken) {
  // Largest first, the second block stands between the fourth and the third, which then lies a unit higher.
  std::vector<BlockLife> lives{{128, 0, 2}, {128, 1, 5}, {64, 4, 11}, {192, 5, 13}};
  std::int64_t extent = 0;
  for (const PlacementPlan::Block& block : plan_placement(lives, 0).blocks)
    extent = std::max(extent, block.offset + block.charged);
  EXPECT_EQ(extent, 256);
}

TEST(PlacementPlan, TheArenaFollowsItAndHoldsNoMoreThanThePeak) {
  PlacementPlan plan = planned_step();
  Memory unplanned, planned;
  run_step(unplanned);
  EXPECT_GT(unplanned.arena()->extent_bytes(), unplanned.meter().snapshot().total_peak);
  for (int step = 0; step < 3; ++step) {
    planned.arena()->follow(&plan);
    run_step(planned);
    EXPECT_EQ(planned.arena()->extent_bytes(), planned.meter().snapshot().total_peak) << step;
  }
}

TEST(PlacementPlan, AStepThatDepartsIsPlacedAsWithoutOne) {
  PlacementPlan plan = planned_step();
  Memory memory;
  Allocation before = memory.allocator().allocate(64 * 1024, Category::state);
  memory.arena()->follow(&plan);
  Allocation other = memory.allocator().allocate(100 * 1024, Category::activations);  // another size than foreseen
  EXPECT_EQ(other.data, before.data + before.charged);
  run_step(memory);
  memory.arena()->follow(&plan);
  run_step(memory);  // above what lives
  memory.arena()->follow(nullptr);
  memory.allocator().release(other, Category::activations);
  memory.allocator().release(before, Category::state);
  EXPECT_EQ(memory.meter().snapshot().total_live, 0);
}

}  // namespace
}  // namespace reprise
