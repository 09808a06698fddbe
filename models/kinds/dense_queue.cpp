#include "models/kinds/dense_queue.h"

#include <cmath>

#include "models/eval/knn.h"
#include "models/eval/probe.h"
#include "models/layers/draws.h"
#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/loss.h"
#include "ops/pool.h"
#include "ops/queue.h"
#include "ops/state.h"

namespace reprise {
namespace {

/// Rows of standard normal numbers, each brought to length 1.
void fill_queue(const Tensor& queue, std::uint64_t seed) {
  fill_normal(queue, named_stream("init.queue", seed));
  std::span<float> values = queue.host_write<float>("initialise");
  auto width = static_cast<std::size_t>(queue.shape()[1]);
  for (std::size_t row = 0; row + width <= values.size(); row += width) {
    double sum = 0;
    for (std::size_t i = row; i < row + width; ++i) sum += double{values[i]} * values[i];
    auto scale = static_cast<float>(1.0 / std::sqrt(std::max(sum, 1e-24)));
    for (std::size_t i = row; i < row + width; ++i) values[i] *= scale;
  }
}

}  // namespace

DenseQueueModel::DenseQueueModel(const Config& config)
    : TrainableModel(config),
      sizes_(encoder_sizes(config)),
      losses_(static_cast<int>(config.get_int("model.losses"))),
      temperature_(config.get_real("model.temperature")),
      dropout_rate_(config.get_real("model.dropout")),
      ring_(config.get_string("model.queue.layout") == "ring"),
      query_(query_set_, sizes_, true),
      key_(key_set_, sizes_, true),
      queue_(queue_set_.add_buffer("queue", DType::f32, {sizes_.queue_rows, sizes_.projection_out})),
      pointer_(queue_set_.add_buffer("queue_pointer", DType::i64, {1})),
      dropout_(named_stream("dropout", static_cast<std::uint64_t>(config.get_int("seed")))) {
  if (sizes_.queue_rows < config.get_int("train.batch")) {
    throw config.error_at(
        "model.queue.size",
        "expected at least the keys of one batch, {}: the queue would overtake itself. Its size is {}",
        config.get_int("train.batch"), sizes_.queue_rows);
  }
}

void DenseQueueModel::allocate(Memory& memory) {
  auto seed = static_cast<std::uint64_t>(config_.get_int("seed"));
  query_set_.allocate(memory, seed);
  key_set_.allocate(memory, seed);
  queue_set_.allocate(memory, seed);
  if (memory.is_dry()) return;
  key_set_.copy_from(query_set_);
  fill_queue(queue_.tensor, seed);
}

std::vector<NamedTensor> DenseQueueModel::tensors() {
  std::vector<NamedTensor> all;
  query_set_.list("", all);
  key_set_.list("key.", all);
  queue_set_.list("", all);
  return all;
}

std::vector<std::int64_t> DenseQueueModel::host_state() const {
  if (!ring_) return {};
  // A dry trace has no pointer to read: it begins at row 0, as a new run does.
  std::span<const std::int64_t> pointer = pointer_.tensor.host_read<std::int64_t>();
  return {pointer.empty() ? dry_pointer_ : pointer[0]};
}

void DenseQueueModel::set_host_state(const std::vector<std::int64_t>& state) {
  if (ring_) dry_pointer_ = state.at(0);
}

SegmentNames DenseQueueModel::segment_names() const {
  SegmentNames names = query_.names();
  names.blocks.push_back("head");
  names.stages.push_back("head");
  return names;
}

AugmentOptions DenseQueueModel::augmentation() const { return augment_options(config_); }

double DenseQueueModel::average_keep() const { return config_.get_real("model.ema_momentum"); }

Value DenseQueueModel::one_loss(Tape& tape, const Tensor& query_view, const Tensor& key_view,
                                const SegmentMarks& marks) {
  Value keys;
  {
    // The keys come first, so that no activation of the query encoder is alive meanwhile. They want no gradient.
    Tape::NoGrad no_grad(tape);
    keys = key_.project(tape, key_.features(tape, key_view, Mode::train));
  }
  Value maps = query_.maps(tape, query_view, Mode::train, marks);
  Value loss = marks.run(tape, "head", [&] {
    Value features = global_avg_pool(tape, std::move(maps));
    if (dropout_rate_ > 0) features = dropout(tape, dropout_, features, dropout_rate_);
    return info_nce(tape, query_.project(tape, std::move(features)), keys, queue_.tensor, temperature_);
  });
  enqueue(tape, keys);
  return loss;
}

void DenseQueueModel::enqueue(Tape& tape, const Value& keys) {
  std::int64_t count = keys.shape()[0];
  if (ring_) {
    std::int64_t position = host_state()[0];
    dry_pointer_ = (position + count) % sizes_.queue_rows;
    enqueue_ring(tape, queue_.tensor, keys, position);
    counter_add(tape, pointer_.tensor, count, sizes_.queue_rows);
  } else {
    enqueue_shift(tape, queue_.tensor, keys);
  }
}

Forward DenseQueueModel::forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) {
  Value loss = one_loss(tape, batch.views[0], batch.views[1], marks);
  if (losses_ == 2) {
    Value other = one_loss(tape, batch.views[1], batch.views[0], marks);
    loss = mul(tape, add(tape, loss, other), 0.5);
  }
  return {loss, std::nullopt};
}

Json DenseQueueModel::evaluate_in_training(const EvaluationContext& context) {
  return {{"knn", knn_of_encoder(context, query_)}};
}

void DenseQueueModel::predict(const EvaluationContext& context, std::int64_t images) {
  predict_by_neighbour(context, query_, images);
}

Json DenseQueueModel::evaluate(const EvaluationContext& context) {
  Json figures;
  if (context.config.get_int("probe.epochs") > 0) figures["probe"] = probe_encoder(context, query_, sizes_);
  return figures;
}

std::vector<std::string> DenseQueueModel::describe(const Json& figures) const {
  if (!figures.contains("probe")) return {"probe: none (probe.epochs is 0)"};
  return describe_probe(figures["probe"]);
}

}  // namespace reprise
