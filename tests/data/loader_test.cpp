#include "data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>

#include "core/error.h"
#include "core/parallel.h"
#include "data/shuffle.h"
#include "data/synthetic.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using namespace testing;

/// Counts what the loader takes.
class CountingAllocator final : public Allocator {
 public:
  Device device() const override { return {}; }
  Allocation allocate(std::int64_t bytes, Category category) override {
    EXPECT_EQ(category, Category::data);
    ++calls;
    live += round_up_64(bytes);
    return {
        static_cast<std::byte*>(::operator new (static_cast<std::size_t>(round_up_64(bytes)), std::align_val_t{64})),
        round_up_64(bytes)};
  }
  void release(const Allocation& allocation, Category) noexcept override {
    live -= allocation.charged;
    ::operator delete (allocation.data, std::align_val_t{64});
  }
  int calls = 0;
  std::int64_t live = 0;
};

const ImageSet& few_images() {
  static const Dataset set = [] {
    SyntheticOptions options;
    options.train = 100;
    options.test = 1;
    return make_synthetic(options);
  }();
  return set.train;
}

LoaderOptions contrastive(int prefetch) {
  LoaderOptions options;
  options.seed = 11;
  options.batch = 16;
  options.views = 2;
  options.prefetch = prefetch;
  options.augment = AugmentOptions::contrastive();
  return options;
}

/// All that a step sees of one batch.
struct Seen {
  LoaderPosition position;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> labels;
  std::vector<float> views[2];
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen look(const Batch& batch) {
  Seen seen{batch.position, {batch.indices.begin(), batch.indices.end()}, {}, {}};
  const auto labels = batch.labels.host_read<std::int64_t>();
  seen.labels.assign(labels.begin(), labels.end());
  for (int v = 0; v < 2; ++v) {
    if (!batch.views[v].defined()) continue;
    const auto view = batch.views[v].host_read<float>();
    seen.views[v].assign(view.begin(), view.end());
  }
  return seen;
}

std::vector<Seen> run(const LoaderOptions& options, int count, LoaderPosition from = {}) {
  CountingAllocator allocator;
  Loader loader(few_images(), options, allocator);
  if (!(from == LoaderPosition{})) loader.seek(from);
  std::vector<Seen> all;
  for (int i = 0; i < count; ++i) all.push_back(look(loader.next()));
  return all;
}

TEST(Shuffle, EachEpochIsAPermutationOfItsOwn) {
  std::vector<std::int32_t> a(1000), b(1000), c(1000), again(1000);
  shuffle_epoch(1, 0, a);
  shuffle_epoch(1, 1, b);
  shuffle_epoch(2, 0, c);
  shuffle_epoch(1, 0, again);
  EXPECT_EQ(a, again);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  for (auto* order : {&a, &b, &c}) {
    std::sort(order->begin(), order->end());
    for (std::int32_t i = 0; i < 1000; ++i) ASSERT_EQ((*order)[static_cast<std::size_t>(i)], i);
  }
}

TEST(Shuffle, EveryImageComesToEveryPlaceAboutEquallyOften) {
  constexpr int kImages = 8, kEpochs = 8000;
  int counts[kImages][kImages] = {};
  std::vector<std::int32_t> order(kImages);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    shuffle_epoch(3, epoch, order);
    for (int i = 0; i < kImages; ++i) ++counts[i][order[static_cast<std::size_t>(i)]];
  }
  for (const auto& row : counts) {
    for (const int count : row) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
  }
}

TEST(Loader, TheSameBatchesComeWithAndWithoutPrefetchAndWithAnyThreads) {
  const std::vector<Seen> plain = run(contrastive(0), 15);
  for (const int prefetch : {1, 3}) EXPECT_EQ(run(contrastive(prefetch), 15), plain) << prefetch;
  set_thread_count(2);
  EXPECT_EQ(run(contrastive(2), 15), plain);
  set_thread_count(1);
}

TEST(Loader, AnEpochHoldsEachImageOnceAndDropsTheRest) {
  const std::vector<Seen> seen = run(contrastive(2), 13);
  std::vector<int> times(100, 0);
  for (int b = 0; b < 6; ++b) {
    EXPECT_EQ(seen[static_cast<std::size_t>(b)].position, (LoaderPosition{0, b}));
    for (const std::int32_t i : seen[static_cast<std::size_t>(b)].indices) ++times[static_cast<std::size_t>(i)];
  }
  EXPECT_EQ(std::count(times.begin(), times.end(), 1), 96);
  EXPECT_EQ(std::count(times.begin(), times.end(), 0), 4);
  EXPECT_EQ(seen[6].position, (LoaderPosition{1, 0}));
  EXPECT_EQ(seen[12].position, (LoaderPosition{2, 0}));
  EXPECT_NE(seen[6].indices, seen[0].indices);
}

TEST(Loader, AnImageIsAugmentedTheSameInWhateverBatchItIs) {
  LoaderOptions small = contrastive(0);
  small.batch = 5;
  const std::vector<Seen> a = run(contrastive(2), 6), b = run(small, 19);
  int compared = 0;
  for (const Seen& x : a) {
    for (std::size_t i = 0; i < x.indices.size(); ++i) {
      for (const Seen& y : b) {
        const auto at = std::find(y.indices.begin(), y.indices.end(), x.indices[i]);
        if (at == y.indices.end()) continue;
        const auto j = at - y.indices.begin();
        for (int v = 0; v < 2; ++v) {
          EXPECT_TRUE(std::equal(x.views[v].begin() + static_cast<std::ptrdiff_t>(i) * kImageFloats,
                                 x.views[v].begin() + (static_cast<std::ptrdiff_t>(i) + 1) * kImageFloats,
                                 y.views[v].begin() + j * kImageFloats));
        }
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 80);
}

TEST(Loader, LabelsAndPixelsBelongToTheirIndices) {
  LoaderOptions options;
  options.batch = 10;
  options.augment = AugmentOptions::evaluation();
  std::vector<float> want(kImageFloats);
  for (const Labels labels : {Labels::fine, Labels::coarse}) {
    options.labels = labels;
    for (const Seen& batch : run(options, 10)) {
      EXPECT_TRUE(batch.views[1].empty());
      for (std::size_t i = 0; i < batch.indices.size(); ++i) {
        const std::int32_t index = batch.indices[i];
        EXPECT_EQ(batch.labels[i], labels == Labels::fine ? few_images().fine(index) : few_images().coarse(index));
        to_float(few_images().planes(index), want.data());
        EXPECT_TRUE(std::equal(want.begin(), want.end(),
                               batch.views[0].begin() + static_cast<std::ptrdiff_t>(i) * kImageFloats));
      }
    }
  }
}

TEST(Loader, EvaluationGoesInOrderAndKeepsTheLastSmallerBatch) {
  LoaderOptions options;
  options.batch = 32;
  options.shuffle = options.drop_last = false;
  options.augment = AugmentOptions::evaluation();
  CountingAllocator allocator;
  Loader loader(few_images(), options, allocator);
  EXPECT_EQ(loader.batches_per_epoch(), 4);
  std::int32_t expected = 0;
  for (const std::int64_t size : {32, 32, 32, 4}) {
    const Batch& batch = loader.next();
    EXPECT_EQ(batch.size, size);
    EXPECT_EQ(batch.views[0].shape(), (Shape{size, 32, 32, 3}));
    EXPECT_EQ(batch.labels.shape(), (Shape{size}));
    for (const std::int32_t index : batch.indices) EXPECT_EQ(index, expected++);
  }
  EXPECT_EQ(loader.next().size, 32);
}

TEST(Loader, AfterASeekExactlyTheSameBatchesCome) {
  const std::vector<Seen> all = run(contrastive(0), 20);
  for (const int prefetch : {0, 2}) {
    CountingAllocator allocator;
    Loader loader(few_images(), contrastive(prefetch), allocator);
    for (int i = 0; i < 4; ++i) loader.next();
    EXPECT_EQ(loader.position(), (LoaderPosition{0, 4}));
    for (const int at : {9, 0, 13, 4, 4}) {
      const LoaderPosition saved = all[static_cast<std::size_t>(at)].position;
      loader.seek(saved);
      EXPECT_EQ(loader.position(), saved);
      for (int i = at; i < at + 3; ++i) EXPECT_EQ(look(loader.next()), all[static_cast<std::size_t>(i)]);
    }
    loader.seek({1, 6});  // the end of epoch 1
    EXPECT_EQ(loader.position(), (LoaderPosition{2, 0}));
    EXPECT_EQ(look(loader.next()), all[12]);
    expect_error(ErrorKind::user, {"a batch of 0 to 6 in it", "batch 7"}, [&] { loader.seek({0, 7}); });
    expect_error(ErrorKind::user, {"epoch -1"}, [&] { loader.seek({-1, 0}); });
  }
}

TEST(Loader, ALimitTakesTheFirstImages) {
  LoaderOptions options = contrastive(1);
  options.limit = 40;
  for (const Seen& batch : run(options, 8)) {
    for (const std::int32_t index : batch.indices) EXPECT_LT(index, 40);
  }
}

TEST(Loader, AllocatesBeforeTheFirstBatchOnly) {
  CountingAllocator allocator;
  {
    Loader loader(few_images(), contrastive(2), allocator);
    EXPECT_EQ(allocator.calls, 3 * 3);  // three slots of two views and labels
    const int before = allocator.calls;
    for (int i = 0; i < 10; ++i) loader.next();
    EXPECT_EQ(allocator.calls, before);
  }
  EXPECT_EQ(allocator.live, 0);
}

TEST(Loader, TheHeldBatchStaysAsItIsWhileOthersAreMade) {
  std::atomic<int> prepared{0};
  LoaderOptions options = contrastive(2);
  options.on_prepare = [&](std::int64_t, std::int64_t) { ++prepared; };
  CountingAllocator allocator;
  Loader loader(few_images(), options, allocator);
  const Batch& batch = loader.next();
  const Seen before = look(batch);
  for (int waited = 0; prepared < 3 && waited < 5000; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(prepared, 3);  // prefetch went ahead as far as the ring allows, and not into the held slot
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(prepared, 3);
  EXPECT_EQ(look(batch), before);
}

TEST(Loader, TakingABatchBackAnnouncesTheWriteBeforeItHappens) {
  CountingAllocator allocator;
  Loader loader(few_images(), contrastive(0), allocator);
  Tensor view = loader.next().views[0];
  const Clock before = view.storage().clock();
  loader.next();
  EXPECT_EQ(view.storage().clock(), before + 1);
}

TEST(Loader, AnExceptionOfTheThreadIsThrownByNextInItsTurn) {
  for (const int prefetch : {0, 3}) {
    LoaderOptions options = contrastive(prefetch);
    options.on_prepare = [](std::int64_t epoch, std::int64_t step) {
      if (epoch == 0 && step == 2) throw std::runtime_error("no more");
    };
    CountingAllocator allocator;
    Loader loader(few_images(), options, allocator);
    EXPECT_EQ(loader.next().position.step, 0);
    EXPECT_EQ(loader.next().position.step, 1);
    EXPECT_THROW(loader.next(), std::runtime_error);
    EXPECT_THROW(loader.next(), std::runtime_error);
    EXPECT_EQ(loader.position(), (LoaderPosition{0, 2}));
    loader.seek({0, 3});  // goes on behind the bad place
    EXPECT_EQ(loader.next().position.step, 3);
  }
}

TEST(Loader, CanBeDestroyedAtAnyMoment) {
  for (int taken = 0; taken < 12; ++taken) {
    CountingAllocator allocator;
    {
      Loader loader(few_images(), contrastive(taken % 4), allocator);
      for (int i = 0; i < taken; ++i) loader.next();
    }
    EXPECT_EQ(allocator.live, 0) << "after " << taken << " batches";
  }
}

TEST(Loader, RefusesOptionsThatCannotWork) {
  CountingAllocator allocator;
  const auto expect_refused = [&](std::initializer_list<std::string> words,
                                  const std::function<void(LoaderOptions&)>& change) {
    LoaderOptions options = contrastive(0);
    change(options);
    expect_error(ErrorKind::user, words, [&] { Loader loader(few_images(), options, allocator); });
  };
  expect_refused({"128", "100"}, [](auto& o) { o.batch = 128; });
  expect_refused({"batch", "got 0"}, [](auto& o) { o.batch = 0; });
  expect_refused({"views", "got 3"}, [](auto& o) { o.views = 3; });
  expect_refused({"prefetch", "got -1"}, [](auto& o) { o.prefetch = -1; });
  expect_refused({"at least one image"}, [](auto& o) { o.limit = 0; });
  EXPECT_EQ(allocator.live, 0);
}

}  // namespace
}  // namespace reprise
