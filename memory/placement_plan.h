// Where the blocks of a step go that was traced dry: known lifetimes pack closer than any rule that sees one request at
// a time (on training steps 1.00 to 1.02 of the live peak, where first fit took up to 1.11).
//
// A dry allocator takes the lifetimes down, plan_placement() lays them out, and the arena follows while the requests
// are those that were foreseen (Arena::follow). A plan is advice about addresses: sizes and results never depend on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

/// One block of a step. Moments count the step's requests and releases; a block that outlives the step has no end.
struct BlockLife {
  static constexpr std::int64_t kNoEnd = INT64_MAX;
  std::int64_t charged = 0;  // bytes
  std::int64_t begin = 0, end = kNoEnd;
};

/// What the arena is to do with the step's requests, in their order.
struct PlacementPlan {
  struct Block {
    std::int64_t charged = 0;
    std::int64_t offset = 0;  // from where the step's blocks begin; -1: as without a plan
  };
  std::vector<Block> blocks;
};

/// Largest first, each at the lowest place that is free all its life ("greedy by size", Pisarchyk and Lee, Efficient
/// Memory Management for Deep Neural Net Inference, 2020); or longest-lived first, where that takes fewer bytes: where
/// large blocks of the forward stay and large ones of the backward come and go above them. Blocks up to `small` bytes
/// are left to the allocator; so are all of a step of more than 8,000 blocks, since the work grows with their square.
PlacementPlan plan_placement(std::span<const BlockLife> lives, std::int64_t small);

}  // namespace reprise
