#include "data/loader.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <numeric>
#include <system_error>

#include "core/error.h"
#include "data/shuffle.h"

namespace reprise {
namespace {

constexpr std::int64_t kMaxBatch = 1 << 20;
constexpr int kMaxPrefetch = 64;

/// Signals are for the program's threads (core/interrupt.h): a handler must not run on the loader's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

void check_options(const LoaderOptions& o) {
  if (o.batch < 1 || o.batch > kMaxBatch) {
    fail(ErrorKind::user, "[loader] expected a batch of 1 to {} images, got {}", kMaxBatch, o.batch);
  }
  if (o.views != 1 && o.views != 2) fail(ErrorKind::user, "[loader] expected 1 or 2 views, got {}", o.views);
  if (o.prefetch < 0 || o.prefetch > kMaxPrefetch) {
    fail(ErrorKind::user, "[loader] expected 0 to {} batches of prefetch, got {}", kMaxPrefetch, o.prefetch);
  }
  o.augment.validate();
}

}  // namespace

Loader::Loader(const ImageSet& images, const LoaderOptions& options, Allocator& allocator, WriteObserver* observer)
    : images_(images), options_(options) {
  check_options(options_);
  count_ = options_.limit >= 0 ? std::min(options_.limit, images_.size()) : images_.size();
  if (count_ < 1) fail(ErrorKind::user, "[loader] expected at least one image, got none");
  batches_ = options_.drop_last ? count_ / options_.batch : (count_ + options_.batch - 1) / options_.batch;
  if (batches_ < 1) {
    fail(ErrorKind::user,
         "[loader] expected at least as many images as a batch holds ({}), got {}. Take a smaller batch",
         options_.batch, count_);
  }
  order_.resize(static_cast<std::size_t>(count_));
  allocate(allocator, observer);
  start();
}

Loader::~Loader() { stop(); }

void Loader::allocate(Allocator& allocator, WriteObserver* observer) {
  slots_.resize(static_cast<std::size_t>(options_.prefetch) + 1);
  for (Slot& slot : slots_) {
    for (int v = 0; v < options_.views; ++v) {
      slot.views[v] = make_tensor(allocator, observer, DType::f32,
                                  {options_.batch, kImageSide, kImageSide, kImageChannels}, Category::data);
      slot.views[v].storage().set_name(v == 0 ? "batch.view0" : "batch.view1");
      slot.view_data[v] = slot.views[v].view().as<float>();
    }
    slot.labels = make_tensor(allocator, observer, DType::i64, {options_.batch}, Category::data);
    slot.labels.storage().set_name("batch.labels");
    slot.label_data = slot.labels.view().as<std::int64_t>();
    slot.indices.resize(static_cast<std::size_t>(options_.batch));
  }
}

LoaderPosition Loader::after(LoaderPosition at) const {
  return at.step + 1 < batches_ ? LoaderPosition{at.epoch, at.step + 1} : LoaderPosition{at.epoch + 1, 0};
}

void Loader::fill(Slot& slot, LoaderPosition at) {
  if (options_.on_prepare) options_.on_prepare(at.epoch, at.step);
  if (order_epoch_ != at.epoch) {
    if (options_.shuffle) {
      shuffle_epoch(options_.seed, at.epoch, order_);
    } else {
      std::iota(order_.begin(), order_.end(), 0);
    }
    order_epoch_ = at.epoch;
  }
  const std::int64_t first = at.step * options_.batch;
  slot.position = at;
  slot.size = std::min(options_.batch, count_ - first);
  for (std::int64_t i = 0; i < slot.size; ++i) {
    const std::int32_t index = order_[static_cast<std::size_t>(first + i)];
    slot.indices[static_cast<std::size_t>(i)] = index;
    slot.label_data[i] = options_.labels == Labels::fine ? images_.fine(index) : images_.coarse(index);
    for (int v = 0; v < options_.views; ++v) {
      augment_image(options_.augment, {options_.seed, at.epoch, index, v}, images_.planes(index),
                    slot.view_data[v] + i * kImageFloats);
    }
  }
  if (options_.on_prepared) options_.on_prepared(at.epoch, at.step);
}

void Loader::start() {
  made_ = returned_ = taken_ = 0;
  stopping_ = false;
  error_ = nullptr;
  if (options_.prefetch == 0) return;
  SignalsBlocked blocked;  // the new thread inherits the mask
  try {
    thread_ = std::thread([this, at = position_] { work(at); });
  } catch (const std::system_error& error) {
    fail(ErrorKind::internal, "[loader] cannot start the prefetch thread: {}. Set its prefetch to 0", error.what());
  }
}

void Loader::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

/// The prefetch thread. It never uses the pool of core/parallel.h, which belongs to the step's thread.
void Loader::work(LoaderPosition at) {
  const auto ring = static_cast<std::int64_t>(slots_.size());
  for (std::int64_t n = 0;; ++n, at = after(at)) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || n - returned_ < ring; });
      if (stopping_) return;
    }
    std::exception_ptr error;
    try {
      fill(slots_[static_cast<std::size_t>(n % ring)], at);
    } catch (...) {
      error = std::current_exception();
    }
    {
      std::lock_guard lock(mutex_);
      if (error)
        error_ = error;
      else
        made_ = n + 1;
    }
    changed_.notify_all();
    if (error) return;
  }
}

void Loader::take_back() {
  if (!held_) return;
  const Writer writer{"loader", 0};
  for (int v = 0; v < options_.views; ++v) held_->views[v].storage().announce(held_->views[v].region(), writer);
  held_->labels.storage().announce(held_->labels.region(), writer);
  held_ = nullptr;
  batch_ = Batch{};
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    returned_ = taken_;
  }
  changed_.notify_all();
}

const Batch& Loader::hand_out(Slot& slot) {
  const auto shorten = [&](const Tensor& tensor) {
    Shape shape = tensor.shape();
    shape[0] = slot.size;
    return tensor.with_view(shape, tensor.strides(), tensor.offset());
  };
  for (int v = 0; v < options_.views; ++v) batch_.views[v] = shorten(slot.views[v]);
  batch_.labels = shorten(slot.labels);
  batch_.indices = std::span<const std::int32_t>(slot.indices).first(static_cast<std::size_t>(slot.size));
  batch_.size = slot.size;
  batch_.position = slot.position;
  held_ = &slot;
  position_ = after(slot.position);
  return batch_;
}

const Batch& Loader::next() {
  take_back();
  if (options_.prefetch == 0) {
    fill(slots_[0], position_);
    return hand_out(slots_[0]);
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_ > taken_ || error_; });
    if (made_ <= taken_) std::rethrow_exception(error_);  // batches made before the error are handed out first
  }
  Slot& slot = slots_[static_cast<std::size_t>(taken_ % static_cast<std::int64_t>(slots_.size()))];
  ++taken_;
  return hand_out(slot);
}

void Loader::seek(LoaderPosition position) {
  if (position.epoch < 0 || position.step < 0 || position.step > batches_) {
    fail(ErrorKind::user,
         "[loader] expected an epoch from 0 on and a batch of 0 to {} in it, got epoch {}, batch {}. Were the data, or "
         "the batch, larger when the run began?",
         batches_, position.epoch, position.step);
  }
  if (position.step == batches_) position = {position.epoch + 1, 0};  // the end of an epoch is the start of the next
  take_back();
  stop();
  position_ = position;
  start();
}

}  // namespace reprise
