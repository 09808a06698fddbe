#include "models/kinds/product_key_memory.h"

#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/row_average.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/softmax.h"

namespace reprise {
namespace {

/// x[b, index[b, j]] of x [batch, n]; differentiable. `begins` [batch, 1]: b * n.
Value take(Tape& tape, const Value& x, const Value& index, const Tensor& begins) {
  return gather_rows(tape, reshape(tape, x, {-1}), add(tape, index, begins));
}

}  // namespace

ProductKeyMemoryModel::ProductKeyMemoryModel(const Config& config)
    : MemoryModel(config),
      keys_(config.get_int("model.keys")),
      key_width_(config.get_int("model.key_width")),
      row_width_(config.get_int("model.table.width")),
      reads_(config.get_int("model.reads")),
      keep_(config.get_real("model.keep")),
      table_(state_.add_buffer("table", DType::f32, {keys_ * keys_, row_width_})),
      usage_(state_.add_buffer("usage", DType::i64, {keys_ * keys_})) {
  if (reads_ > keys_) {
    throw config.error_at("model.reads", "expected at most model.keys, {}, got {}", keys_, reads_);
  }
  require_rows_of_hidden(row_width_);
  for (std::size_t i = 0; i < layers(); ++i) {
    parts_.push_back({set_.add(layer_name(i, "query.weight"), {2 * key_width_, width()}, Init::normal, width()),
                      set_.add(layer_name(i, "keys.first"), {keys_, key_width_}, Init::normal, key_width_),
                      set_.add(layer_name(i, "keys.second"), {keys_, key_width_}, Init::normal, key_width_),
                      ResidualMix(set_, layer_name(i, "mix"), width(), row_width_, config.get_int("model.hidden"))});
  }
}

void ProductKeyMemoryModel::draw(Memory& memory) {
  if (!memory.is_dry()) fill_normal(table_.tensor, stream("table"));
  declare_sources(memory, batch());
  auto begins = [&](const char* name, std::int64_t step) {
    std::vector<std::int64_t> list;
    for (std::int64_t b = 0; b < batch(); ++b) list.push_back(b * step);
    return make_index(memory, name, {batch(), 1}, list);
  };
  key_begins_ = begins("key_begins", keys_);
  pair_begins_ = begins("pair_begins", reads_ * reads_);
}

ProductKeyMemoryModel::Chosen ProductKeyMemoryModel::choose(Tape& tape, const Value& scores,
                                                            const Tensor& begins) const {
  Value indices = top_k(tape, scores, reads_).indices;
  Value chosen = take(tape, scores, indices, begins);
  return {std::move(indices), std::move(chosen)};
}

Value ProductKeyMemoryModel::layer(Tape& tape, std::size_t index, Arg hidden) {
  const Layer& part = parts_[index];
  Value query = linear(tape, hidden, part.query.leaf);
  auto half = [&](std::int64_t begin, const Parameter& keys) {
    return choose(tape, linear(tape, slice(tape, query, 1, begin, begin + key_width_), keys.leaf), key_begins_);
  };
  Chosen first = half(0, part.first), second = half(key_width_, part.second);
  Shape down{batch(), reads_, 1}, across{batch(), 1, reads_}, pairs{batch(), reads_ * reads_};
  auto combined = [&](Arg a, Arg b) { return reshape(tape, add(tape, std::move(a), std::move(b)), pairs); };
  Value scores =
      combined(reshape(tape, std::move(first.scores), down), reshape(tape, std::move(second.scores), across));
  Chosen best = choose(tape, scores, pair_begins_);
  Value rows = take(tape,
                    combined(mul(tape, reshape(tape, std::move(first.indices), down), static_cast<double>(keys_)),
                             reshape(tape, std::move(second.indices), across)),
                    best.indices, pair_begins_);
  Value read = matmul(tape, reshape(tape, softmax(tape, std::move(best.scores)), across),
                      gather_rows(tape, table_.tensor, rows));
  Value next = part.mix(tape, hidden, reshape(tape, std::move(read), {batch(), row_width_}));

  Tape::NoGrad no_grad(tape);
  count_rows(tape, usage_.tensor, rows);
  ema_rows(tape, table_.tensor, rows, reshape(tape, sources(tape, next, row_width_), {batch(), 1, row_width_}), keep_);
  return next;
}

}  // namespace reprise
