#include "models/kinds/row_memory.h"

#include "ops/matmul.h"
#include "ops/row_average.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "ops/softmax.h"

namespace reprise {

RowMemoryModel::RowMemoryModel(const Config& config)
    : MemoryModel(config),
      rows_(config.get_int("model.table.rows")),
      row_width_(config.get_int("model.table.width")),
      reads_(config.get_int("model.reads")),
      writes_(config.get_int("model.writes")),
      keep_(config.get_real("model.keep")),
      table_(state_.add_buffer("table", DType::f32, {rows_, row_width_})) {
  if (writes_ > rows_) {
    throw config.error_at("model.writes", "expected at most the rows of the table, {}, got {}", rows_, writes_);
  }
  require_rows_of_hidden(row_width_);
  for (std::size_t i = 0; i < layers(); ++i) {
    parts_.push_back({set_.add(layer_name(i, "score.weight"), {reads_, width()}, Init::normal, width()),
                      ResidualMix(set_, layer_name(i, "mix"), width(), row_width_, config.get_int("model.hidden")),
                      {},
                      {}});
  }
}

void RowMemoryModel::draw(Memory& memory) {
  if (!memory.is_dry()) fill_normal(table_.tensor, stream("table"));
  declare_sources(memory, writes_);
  for (std::size_t i = 0; i < layers(); ++i) {
    Layer& part = parts_[i];
    std::string reads = layer_name(i, "reads"), writes = layer_name(i, "writes");
    part.reads = make_index(memory, reads, {batch(), reads_}, draw_rows(stream(reads), batch() * reads_, rows_));
    part.writes = make_index(memory, writes, {writes_}, draw_distinct_rows(stream(writes), writes_, rows_));
  }
}

Value RowMemoryModel::layer(Tape& tape, std::size_t index, Arg hidden) {
  const Layer& part = parts_[index];
  Value weights = softmax(tape, linear(tape, hidden, part.score.leaf));
  Value read = matmul(tape, reshape(tape, std::move(weights), {batch(), 1, reads_}),
                      gather_rows(tape, table_.tensor, part.reads));
  Value next = part.mix(tape, hidden, reshape(tape, std::move(read), {batch(), row_width_}));
  Tape::NoGrad no_grad(tape);
  ema_rows(tape, table_.tensor, part.writes, sources(tape, next, row_width_), keep_);
  return next;
}

}  // namespace reprise
