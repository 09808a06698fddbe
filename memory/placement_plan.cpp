#include "memory/placement_plan.h"

#include <algorithm>

namespace reprise {
namespace {

constexpr std::size_t kMostBlocks = 8000;

struct Placed {
  std::int64_t offset, end_offset;
  std::int64_t begin, end;
};

/// The lowest offset with `charged` bytes that no block alive at the same time has. `placed` is sorted by offset.
std::int64_t lowest_free(const std::vector<Placed>& placed, const BlockLife& life) {
  std::int64_t at = 0;
  for (const Placed& other : placed) {
    if (other.begin >= life.end || life.begin >= other.end) continue;
    if (other.offset - at >= life.charged) break;
    at = std::max(at, other.end_offset);
  }
  return at;
}

/// Gives the blocks of `order` their places, one after the other. Returns the bytes that all of them take.
std::int64_t place_in_order(std::span<const BlockLife> lives, const std::vector<std::size_t>& order,
                            PlacementPlan& plan) {
  std::vector<Placed> placed;
  placed.reserve(order.size());
  std::int64_t extent = 0;
  for (std::size_t i : order) {
    const BlockLife& life = lives[i];
    std::int64_t offset = lowest_free(placed, life);
    Placed one{offset, offset + life.charged, life.begin, life.end};
    auto later = [](std::int64_t o, const Placed& p) { return o < p.offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset, later), one);
    plan.blocks[i].offset = offset;
    extent = std::max(extent, one.end_offset);
  }
  return extent;
}

}  // namespace

PlacementPlan plan_placement(std::span<const BlockLife> lives, std::int64_t small) {
  PlacementPlan plan;
  plan.blocks.reserve(lives.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    plan.blocks.push_back({lives[i].charged, -1});
    if (lives[i].charged > small) order.push_back(i);
  }
  if (order.size() > kMostBlocks) return plan;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lives[a].charged != lives[b].charged ? lives[a].charged > lives[b].charged : a < b;
  });
  std::int64_t best = place_in_order(lives, order, plan);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    std::int64_t of_a = lives[a].end - lives[a].begin, of_b = lives[b].end - lives[b].begin;
    return of_a != of_b ? of_a > of_b : a < b;
  });
  PlacementPlan other = plan;
  if (place_in_order(lives, order, other) < best) return other;
  return plan;
}

}  // namespace reprise
