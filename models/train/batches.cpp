#include "models/train/batches.h"

namespace reprise {

Batches::Batches(const TrainableModel& model, const ImageSet& images, const LoaderOptions& options, Memory& memory) {
  own_.size = options.batch;
  if (model.takes_images()) {
    loader_ = std::make_unique<Loader>(images, options, memory.allocator(), memory.observer());
  }
}

const Batch& Batches::next() {
  if (loader_) return loader_->next();
  own_.position = position_;
  ++position_.epoch;
  return own_;
}

void Batches::seek(LoaderPosition position) {
  if (loader_) return loader_->seek(position);
  position_ = position;
}

}  // namespace reprise
