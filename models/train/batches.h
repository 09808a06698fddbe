// Batches: what a training takes its batches from: the loader, or, for a model that takes no images, batches that have
// a size and nothing else, one an epoch. Used by the trainer and by checks.
#pragma once

#include <cstdint>
#include <memory>

#include "memory/memory.h"
#include "models/model.h"

namespace reprise {

class Batches {
 public:
  /// `images` outlive it where the model takes any. Errors: as the loader's.
  Batches(const TrainableModel& model, const ImageSet& images, const LoaderOptions& options, Memory& memory);

  /// Valid until the next call.
  const Batch& next();
  /// Images, or examples, of one epoch; and its batches.
  std::int64_t size_of_epoch() const { return loader_ ? loader_->images_per_epoch() : own_.size; }
  std::int64_t per_epoch() const { return loader_ ? loader_->batches_per_epoch() : 1; }
  /// Where next() goes on, as the loader's.
  LoaderPosition position() const { return loader_ ? loader_->position() : position_; }
  void seek(LoaderPosition position);

 private:
  std::unique_ptr<Loader> loader_;  // null: the model takes no images
  Batch own_;
  LoaderPosition position_;
};

}  // namespace reprise
