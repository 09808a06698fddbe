#include "models/eval/features.h"

#include <algorithm>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "data/augment.h"

namespace reprise {
namespace {

struct BatchSlot {
  Tensor images, labels;
};

BatchSlot make_slot(Memory& memory, std::int64_t size) {
  return {make_tensor(memory.allocator(), memory.observer(), DType::f32, {size, kImageSide, kImageSide, kImageChannels},
                      Category::data),
          make_tensor(memory.allocator(), memory.observer(), DType::i64, {size}, Category::data)};
}

void fill_slot(const BatchSlot& slot, const ImageSet& set, std::int64_t first, std::int64_t size) {
  float* out = slot.images.host_write<float>("evaluation").data();
  parallel_blocks(size, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to_float(set.planes(first + i), out + i * kImageFloats);
  });
  std::span<std::int64_t> labels = slot.labels.host_write<std::int64_t>("evaluation");
  for (std::int64_t i = 0; i < size; ++i) labels[static_cast<std::size_t>(i)] = set.fine(first + i);
}

void run_batches(const EvaluationContext& context, const ImageSet& images, std::int64_t count, std::int64_t batch,
                 bool cut, const char* stage, const BatchBody& body) {
  batch = std::min(batch, count);
  Tape tape(context.memory, {.record = false});
  for (std::int64_t first = 0; first < count;) {
    stop_evaluation_if_asked();
    std::int64_t size = std::min(batch, count - first);
    try {
      BatchSlot slot = make_slot(context.memory, size);
      fill_slot(slot, images, first, size);
      body(tape, slot.images, slot.labels, first);
      tape.clear();
    } catch (const Error& error) {
      tape.clear();
      if (error.kind() != ErrorKind::memory || size == 1 || !cut) throw;
      batch = size / 2;
      continue;
    }
    first += size;
    if (context.progress && context.progress->mode() == ProgressMode::line) {
      ProgressState state;
      state.stage = stage;
      state.step = first;
      state.steps = count;
      context.progress->update(state);
    }
  }
}

}  // namespace

void stop_evaluation_if_asked() {
  if (stop_requested()) throw Interrupted{"evaluating"};
}

void for_each_batch(const EvaluationContext& context, const ImageSet& images, std::int64_t count, const char* stage,
                    const BatchBody& body) {
  run_batches(context, images, count, context.config.get_int("eval.batch"), true, stage, body);
}

void for_each_whole_batch(const EvaluationContext& context, const ImageSet& images, std::int64_t count,
                          std::int64_t batch, const char* stage, const BatchBody& body) {
  run_batches(context, images, count, batch, false, stage, body);
}

FeatureTable compute_features(const EvaluationContext& context, const Encoder& encoder, const ImageSet& images,
                              std::int64_t count, const char* stage) {
  FeatureTable table{count, encoder.dim(), {}, {}};
  table.values.resize(static_cast<std::size_t>(count * table.width));
  table.labels.resize(static_cast<std::size_t>(count));
  for_each_batch(context, images, count, stage,
                 [&](Tape& tape, const Tensor& x, const Tensor& labels, std::int64_t first) {
                   Value features = encoder.features(tape, x, Mode::evaluate);
                   auto values = features.tensor().host_read<float>();
                   std::copy(values.begin(), values.end(), table.values.begin() + first * table.width);
                   auto names = labels.host_read<std::int64_t>();
                   std::copy(names.begin(), names.end(), table.labels.begin() + first);
                 });
  return table;
}

}  // namespace reprise
