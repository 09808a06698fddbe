#include "models/kinds/slot_cache.h"

#include <cmath>

#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/queue.h"
#include "ops/softmax.h"
#include "ops/state.h"

namespace reprise {

SlotCacheModel::SlotCacheModel(const Config& config)
    : MemoryModel(config),
      slots_(config.get_int("model.table.rows")),
      row_width_(config.get_int("model.table.width")),
      span_(config.get_int("model.span")),
      ring_(state_.add_buffer("ring", DType::f32, {slots_, row_width_})),
      pointer_(state_.add_buffer("pointer", DType::i64, {1})) {
  if (span_ > slots_) {
    throw config.error_at("model.span", "expected at most the slots of the ring, {}, got {}", slots_, span_);
  }
  require_rows_of_hidden(row_width_);
  for (std::size_t i = 0; i < layers(); ++i) {
    parts_.push_back({set_.add(layer_name(i, "query.weight"), {row_width_, width()}, Init::normal, width()),
                      ResidualMix(set_, layer_name(i, "mix"), width(), row_width_, config.get_int("model.hidden"))});
  }
}

void SlotCacheModel::draw(Memory& memory) {
  if (!memory.is_dry()) fill_normal(ring_.tensor, stream("ring"));
  declare_sources(memory, span_);
}

std::vector<std::int64_t> SlotCacheModel::host_state() const {
  std::span<const std::int64_t> pointer = pointer_.tensor.host_read<std::int64_t>();
  return {pointer.empty() ? dry_position_ : pointer[0]};
}

Value SlotCacheModel::layer(Tape& tape, std::size_t index, Arg hidden) {
  const Layer& part = parts_[index];
  Value query = mul(tape, linear(tape, hidden, part.query.leaf), 1.0 / std::sqrt(static_cast<double>(row_width_)));
  Value weights = softmax(tape, matmul(tape, std::move(query), ring_.tensor, false, true));
  Value next = part.mix(tape, hidden, matmul(tape, std::move(weights), ring_.tensor));

  Tape::NoGrad no_grad(tape);
  std::int64_t position = host_state()[0];
  dry_position_ = (position + span_) % slots_;
  enqueue_ring(tape, ring_.tensor, sources(tape, next, row_width_), position);
  counter_add(tape, pointer_.tensor, span_, slots_);
  return next;
}

}  // namespace reprise
