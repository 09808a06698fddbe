#include "memory/meter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/error.h"

namespace reprise {
namespace {

RC_GTEST_PROP(Meter, CountsMatchARecountOfTheWholeHistory, ()) {
  Meter meter;
  meter.record_timeline(true);
  struct Change {
    Category category;
    std::int64_t delta;
  };
  std::vector<Change> live, history;
  int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    if (live.empty() || *rc::gen::inRange(0, 3) > 0) {
      Change change{static_cast<Category>(*rc::gen::inRange(0, kCategoryCount)), 64 * *rc::gen::inRange(1, 100)};
      meter.add(change.category, change.delta);
      live.push_back(change);
      history.push_back(change);
    } else {
      Change change = live.back();
      meter.remove(change.category, change.delta);
      live.pop_back();
      history.push_back({change.category, -change.delta});
    }
  }
  CategoryBytes now{}, peak{}, at_peak{};
  std::int64_t total = 0, most = 0;
  RC_ASSERT(meter.timeline().size() == history.size());
  for (std::size_t i = 0; i < history.size(); ++i) {
    auto c = static_cast<std::size_t>(history[i].category);
    now[c] += history[i].delta;
    total += history[i].delta;
    peak[c] = std::max(peak[c], now[c]);
    if (total > most) at_peak = now;
    most = std::max(most, total);
    const MeterEvent& event = meter.timeline()[i];
    RC_ASSERT(event.sequence == i);
    RC_ASSERT(event.delta == history[i].delta);
    RC_ASSERT(event.live == total);
  }
  MeterSnapshot got = meter.snapshot();
  RC_ASSERT(got.live == now);
  RC_ASSERT(got.peak == peak);
  RC_ASSERT(got.at_peak == at_peak);
  RC_ASSERT(got.total_live == total);
  RC_ASSERT(got.total_peak == most);
}

TEST(Meter, BytesAreDescribedLargestFirst) {
  CategoryBytes bytes{};
  EXPECT_EQ(describe_bytes(bytes), "nothing");
  bytes[static_cast<std::size_t>(Category::parameters)] = 64;
  bytes[static_cast<std::size_t>(Category::activations)] = 640;
  bytes[static_cast<std::size_t>(Category::data)] = 64;
  EXPECT_EQ(describe_bytes(bytes), "activations 640, parameters 64, data 64");
  EXPECT_EQ(describe_bytes(bytes, 2), "activations 640, parameters 64");
}

TEST(Meter, PeaksStartAgainFromWhatIsLive) {
  Meter meter;
  meter.add(Category::activations, 640);
  meter.add(Category::workspace, 128);
  meter.remove(Category::activations, 512);
  meter.reset_peak();
  EXPECT_EQ(meter.peak(), 256);
  EXPECT_EQ(meter.peak(Category::activations), 128);
  meter.add(Category::state, 64);
  EXPECT_EQ(meter.peak(), 320);
  EXPECT_EQ(meter.live(Category::workspace), 128);
}

TEST(Meter, TheTimelineIsOffUntilAskedForAndKeepsItsPlaceInTheSequence) {
  Meter meter;
  meter.add(Category::state, 64);
  EXPECT_TRUE(meter.timeline().empty());
  meter.record_timeline(true);
  {
    OpScope scope(meter, "conv2d");
    meter.add(Category::workspace, 128);
  }
  meter.record_timeline(false);
  meter.remove(Category::workspace, 128);
  ASSERT_EQ(meter.timeline().size(), 1u);
  EXPECT_EQ(meter.timeline()[0].sequence, 1u);
  EXPECT_STREQ(meter.timeline()[0].op, "conv2d");
  EXPECT_EQ(meter.timeline()[0].category, Category::workspace);
  EXPECT_EQ(meter.timeline()[0].live, 192);
}

TEST(Meter, OpScopesNest) {
  Meter meter;
  {
    OpScope outer(meter, "linear");
    {
      OpScope inner(meter, "matmul");
      EXPECT_STREQ(meter.current_op(), "matmul");
    }
    EXPECT_STREQ(meter.current_op(), "linear");
  }
  EXPECT_EQ(meter.current_op(), nullptr);
}

TEST(Meter, TheBudgetIsMetToTheByte) {
  Meter meter;
  EXPECT_TRUE(meter.fits(std::int64_t{1} << 60)) << "no budget, no cap";
  meter.set_budget(256);
  meter.add(Category::state, 192);
  EXPECT_TRUE(meter.fits(64));
  EXPECT_FALSE(meter.fits(128));
  meter.set_budget(128);
  EXPECT_FALSE(meter.fits(64)) << "a cap lowered below what is live";
}

TEST(Meter, TheErrorNamesRequestOpCategoriesBudgetAndLargest) {
  Meter meter;
  meter.set_budget(1024);
  meter.add(Category::parameters, 192);
  meter.add(Category::activations, 640);
  OpScope scope(meter, "conv2d");
  std::vector<LiveBlock> largest{{640, Category::activations, "layer1.0.out", "relu"}, {130, Category::parameters}};
  try {
    meter.fail_no_room(500, Category::workspace, "a budget of 1024 bytes", largest);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
    EXPECT_EQ(error.message(),
              "[conv2d] expected room for 500 bytes of workspace, got a budget of 1024 bytes with 832 bytes live "
              "(activations 640, parameters 192). Use a smaller batch, another recompute.method, or raise "
              "memory.budget.\nlargest live tensors:\n  640 bytes activations 'layer1.0.out', made by relu\n"
              "  130 bytes parameters");
  }
}

}  // namespace
}  // namespace reprise
