// What the arena costs beyond the live peak, on traces shaped like the steps that this project runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory/arena.h"

namespace reprise {
namespace {

/// One training step of a convolutional encoder: a second encoder forward without gradients, forward, backward in
/// reverse with cotangents; workspaces come and go around each convolution. Blocks marked for replay keep their output
/// only and run again in the backward.
class StepTrace {
 public:
  StepTrace(Arena& arena, std::int64_t batch, int replay_every, std::uint32_t seed)
      : arena_(arena), batch_(batch), replay_every_(replay_every), word_(seed) {
    std::int64_t hw = 32 * 32, channels = 64, in = 3 * hw * batch * 4;
    for (int b = 0; b < 9; ++b) {
      if (b == 3 || b == 5 || b == 7) hw /= 4, channels *= 2;
      std::vector<Layer> layers;
      for (int k = 0; k < (b ? 4 : 2); ++k) {  // convolution, normalisation, convolution, normalisation
        std::int64_t out = hw * channels * batch * 4, room = k % 2 == 0 ? out / 4 : 0;
        layers.push_back({in, out, room ? draw(room) : 0, room ? draw(room) : 0});
        in = out;
      }
      blocks_.push_back(layers);
    }
  }

  void run() {
    Held x = take(3 * 32 * 32 * batch_ * 4, Category::data);
    infer_only();
    std::vector<std::vector<Held>> kept(blocks_.size());
    std::vector<Held> outs;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      forward(b, kept[b], false);
      outs.push_back(kept[b].back());
      kept[b].pop_back();
      if (replayed(b)) give(kept[b]);
    }
    Held cotangent = take(blocks_.back().back().out, Category::cotangents);
    for (std::size_t b = blocks_.size(); b-- > 0;) {
      if (replayed(b)) forward(b, kept[b], true);
      give(outs[b]);
      for (std::size_t k = blocks_[b].size(); k-- > 0;) {
        Held work = take(blocks_[b][k].backward_room, Category::workspace);
        Held next = take(blocks_[b][k].in, Category::cotangents);
        give(work);
        give(cotangent);
        cotangent = next;
      }
      give(kept[b]);
    }
    give(cotangent);
    give(x);
  }

 private:
  struct Layer {
    std::int64_t in, out, forward_room, backward_room;
  };
  struct Held {
    Allocation allocation;
    Category category;
  };

  std::int64_t draw(std::int64_t most) {
    word_ = word_ * 1664525u + 1013904223u;
    return static_cast<std::int64_t>(word_ >> 8) % most;
  }
  bool replayed(std::size_t b) const { return replay_every_ > 0 && b % static_cast<std::size_t>(replay_every_) == 0; }
  Held take(std::int64_t bytes, Category category) { return {arena_.allocate(bytes, category), category}; }
  void give(const Held& held) { arena_.release(held.allocation, held.category); }
  void give(std::vector<Held>& all) {
    while (!all.empty()) {
      give(all.back());
      all.pop_back();
    }
  }
  void forward(std::size_t b, std::vector<Held>& kept, bool without_last) {
    for (std::size_t k = 0; k + (without_last ? 1 : 0) < blocks_[b].size(); ++k) {
      Held work = take(blocks_[b][k].forward_room, Category::workspace);
      if (k % 2) kept.push_back(take(512, Category::activations));  // mean and deviation
      kept.push_back(take(blocks_[b][k].out, Category::activations));
      give(work);
    }
  }
  void infer_only() {
    Held x = take(blocks_[0][0].in, Category::activations);
    for (const auto& layers : blocks_) {
      for (const Layer& layer : layers) {
        Held work = take(layer.forward_room, Category::workspace);
        Held y = take(layer.out, Category::activations);
        give(work);
        give(x);
        x = y;
      }
    }
    give(x);
  }

  Arena& arena_;
  std::int64_t batch_;
  int replay_every_;
  std::uint32_t word_;
  std::vector<std::vector<Layer>> blocks_;
};

TEST(Arena, TheExtentStaysCloseToTheLivePeakInTrainingSteps) {
  double worst = 0;
  for (int replay_every : {0, 2, 1}) {
    for (std::uint32_t seed = 0; seed < 8; ++seed) {
      Meter meter;
      Arena arena(meter, std::int64_t{1} << 36);
      std::vector<Allocation> slabs;
      for (int i = 0; i < 4; ++i) slabs.push_back(arena.allocate(44'000'000, Category::parameters));
      StepTrace trace(arena, 64 + 16 * seed, replay_every, seed);
      for (int step = 0; step < 3; ++step) trace.run();
      double ratio = static_cast<double>(arena.extent_bytes()) / static_cast<double>(meter.peak());
      worst = std::max(worst, ratio);
      EXPECT_LE(ratio, 1.05) << "replay every " << replay_every << ", seed " << seed;
      for (const Allocation& slab : slabs) arena.release(slab, Category::parameters);
      EXPECT_EQ(meter.live(), 0);
      EXPECT_LE(arena.free_run_count(), 2);
    }
  }
  RecordProperty("worst_extent_per_mille", static_cast<int>(worst * 1000));
}

}  // namespace
}  // namespace reprise
