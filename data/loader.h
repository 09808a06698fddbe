// Batches of augmented images, prepared by a thread of its own while the step runs.
//
// A fixed ring of batch slots is allocated once, in the constructor. The thread writes only slots that the step does
// not hold, through plain pointers; what the step sees of a batch is a function of the options and of its position
// alone. Callers: trainer, probe, evaluation. All methods belong to the step's thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/tensor.h"
#include "data/augment.h"
#include "data/images.h"

namespace reprise {

enum class Labels : std::uint8_t { fine, coarse };

struct LoaderOptions {
  std::uint64_t seed = 0;
  std::int64_t batch = 128;
  int views = 1;          // 2: two augmentations of each image, for contrastive training
  bool shuffle = true;    // else in the set's order
  bool drop_last = true;  // else the last batch of an epoch may be smaller
  int prefetch = 2;       // batches prepared ahead; 0: each is made in next(), without a thread
  Labels labels = Labels::fine;
  AugmentOptions augment;
  std::int64_t limit = -1;  // only the first images of the set, when >= 0
  /// Called before each batch is made, by the thread that makes it; for tracing. What it throws, next() throws.
  std::function<void(std::int64_t epoch, std::int64_t step)> on_prepare;
  /// The same after it was made.
  std::function<void(std::int64_t epoch, std::int64_t step)> on_prepared;
};

/// The next batch to come: its epoch and its place in it.
struct LoaderPosition {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

/// Valid until the next call of next() or seek().
struct Batch {
  Tensor views[2];                        // f32 [size, 32, 32, 3]; the second only with two views
  Tensor labels;                          // i64 [size]
  std::span<const std::int32_t> indices;  // places in the set
  std::int64_t size = 0;
  LoaderPosition position;
};

class Loader {
 public:
  /// `images` must outlive the loader. Slots come from `allocator` (category data); `observer` may be null.
  /// Errors (user, config): no images, a batch larger than the set with drop_last, an option out of range; (memory).
  Loader(const ImageSet& images, const LoaderOptions& options, Allocator& allocator, WriteObserver* observer = nullptr);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch; goes on from epoch to epoch without an end. The batch handed out before is taken back: its
  /// storages announce a write of all their bytes, so what a tape still owes of them is preserved first.
  const Batch& next();
  /// Images, and batches, of one epoch.
  std::int64_t images_per_epoch() const { return count_; }
  std::int64_t batches_per_epoch() const { return batches_; }

  /// Where next() will go on. After seek(p) exactly the batches from p on come, whatever came before.
  LoaderPosition position() const { return position_; }
  /// Errors (user): a negative epoch, or a step beyond the epoch's batches.
  void seek(LoaderPosition position);

 private:
  struct Slot {
    Tensor views[2], labels;
    float* view_data[2] = {};
    std::int64_t* label_data = nullptr;
    std::vector<std::int32_t> indices;
    LoaderPosition position;
    std::int64_t size = 0;
  };

  void allocate(Allocator& allocator, WriteObserver* observer);
  void fill(Slot& slot, LoaderPosition at);
  LoaderPosition after(LoaderPosition at) const;
  void start();
  void stop() noexcept;
  void work(LoaderPosition at);
  void take_back();
  const Batch& hand_out(Slot& slot);

  const ImageSet& images_;
  const LoaderOptions options_;
  std::int64_t count_ = 0, batches_ = 0;
  std::vector<Slot> slots_;
  LoaderPosition position_;
  Batch batch_;
  Slot* held_ = nullptr;

  // Used by whichever thread fills slots.
  std::vector<std::int32_t> order_;
  std::int64_t order_epoch_ = -1;

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex: batches made and batches whose slots came back; slot of batch n is n modulo the ring's size.
  std::int64_t made_ = 0, returned_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::int64_t taken_ = 0;  // batches handed out since the thread was started; the step's own
};

}  // namespace reprise
