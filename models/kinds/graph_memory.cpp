#include "models/kinds/graph_memory.h"

#include <map>

#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "ops/unary.h"

namespace reprise {

GraphMemoryModel::GraphMemoryModel(const Config& config)
    : MemoryModel(config),
      nodes_(config.get_int("model.table.rows")),
      row_width_(config.get_int("model.table.width")),
      skew_(config.get_real("model.skew")),
      table_(state_.add_buffer("table", DType::f32, {nodes_, row_width_})) {
  std::int64_t joined = width() + 2 * row_width_;
  for (std::size_t i = 0; i < layers(); ++i) {
    auto add = [&](const char* part, const Shape& shape, Init init, std::int64_t fan) -> Parameter& {
      return set_.add(layer_name(i, part), shape, init, fan);
    };
    parts_.push_back({add("gate.weight", {row_width_, joined}, Init::normal, joined),
                      add("gate.bias", {row_width_}, Init::zeros, 1),
                      add("message.weight", {row_width_, joined}, Init::normal, joined),
                      add("message.bias", {row_width_}, Init::zeros, 1),
                      add("out.weight", {width(), 2 * row_width_}, Init::normal, 20 * row_width_),
                      {},
                      {},
                      {},
                      {}});
  }
}

void GraphMemoryModel::draw(Memory& memory) {
  if (!memory.is_dry()) fill_normal(table_.tensor, stream("table"));
  for (std::size_t i = 0; i < layers(); ++i) {
    Layer& part = parts_[i];
    std::string name = layer_name(i, "heads");
    std::vector<std::int64_t> heads = draw_rows(stream(name), batch(), nodes_, skew_);
    part.heads = make_index(memory, name, {batch()}, heads);
    name = layer_name(i, "tails");
    std::vector<std::int64_t> tails = draw_rows(stream(name), batch(), nodes_, skew_);
    part.tails = make_index(memory, name, {batch()}, tails);

    std::vector<std::int64_t> touched, last;
    std::map<std::int64_t, std::size_t> place;
    auto touch = [&](std::int64_t node, std::int64_t row) {
      auto [at, fresh] = place.emplace(node, touched.size());
      if (fresh) touched.push_back(node), last.push_back(row);
      last[at->second] = row;
    };
    for (std::int64_t e = 0; e < batch(); ++e) {
      touch(heads[static_cast<std::size_t>(e)], e);
      touch(tails[static_cast<std::size_t>(e)], batch() + e);
    }
    auto count = static_cast<std::int64_t>(touched.size());
    part.touched = make_index(memory, layer_name(i, "touched"), {count}, touched);
    part.last = make_index(memory, layer_name(i, "last"), {count}, last);
  }
}

Value GraphMemoryModel::layer(Tape& tape, std::size_t index, Arg hidden) {
  const Layer& part = parts_[index];
  Value head = gather_rows(tape, table_.tensor, part.heads), tail = gather_rows(tape, table_.tensor, part.tails);
  Arg all[] = {hidden, head, tail};
  Value joined = concat(tape, all, 1);
  Value gate = sigmoid(tape, linear(tape, joined, part.gate.leaf, part.gate_bias.leaf));
  Value message = tanh(tape, linear(tape, std::move(joined), part.message.leaf, part.message_bias.leaf));
  auto moved = [&](const Value& row) { return add(tape, row, mul(tape, gate, sub(tape, message, row))); };
  Arg ends[] = {moved(head), moved(tail)};
  Value next = add(tape, hidden, linear(tape, concat(tape, ends, 1), part.out.leaf));

  Tape::NoGrad no_grad(tape);
  assign_rows(tape, table_.tensor, part.touched, gather_rows(tape, concat(tape, ends, 0), part.last));
  return next;
}

}  // namespace reprise
