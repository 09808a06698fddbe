#include "models/kinds/memory_model.h"

#include <cmath>

#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/rows.h"
#include "ops/shape_ops.h"
#include "ops/unary.h"

namespace reprise {

MemoryModel::MemoryModel(const Config& config)
    : TrainableModel(config),
      batch_(config.get_int("train.batch")),
      width_(config.get_int("model.width")),
      layers_(static_cast<std::size_t>(config.get_int("model.layers"))) {}

Stream MemoryModel::stream(const std::string& name) const {
  return named_stream("init." + name, static_cast<std::uint64_t>(config_.get_int("seed")));
}

std::string MemoryModel::layer_name(std::size_t index, const char* part) {
  std::string name = "layer" + std::to_string(index);
  return part ? name + "." + part : name;
}

void MemoryModel::require_rows_of_hidden(std::int64_t row_width) const {
  if (row_width <= width_) return;
  throw config_.error_at("model.table.width",
                         "expected at most model.width, {}, since rows take after hidden states, got {}", width_,
                         row_width);
}

void MemoryModel::allocate(Memory& memory) {
  auto seed = static_cast<std::uint64_t>(config_.get_int("seed"));
  set_.allocate(memory, seed);
  state_.allocate(memory, seed);
  input_ = make_tensor(memory.allocator(), memory.observer(), DType::f32, {batch_, width_}, Category::data);
  input_.storage().set_name("input");
  if (!memory.is_dry()) fill_normal(input_, stream("input"));
  input_.storage().mark_constant();
  draw(memory);
}

void MemoryModel::convert_input(Memory& memory, DType dtype) {
  Tensor to = make_tensor(memory.allocator(), memory.observer(), dtype, input_.shape(), Category::data);
  to.assign_doubles(input_.to_doubles(), "convert");
  to.storage().set_name("input");
  to.storage().mark_constant();
  input_ = std::move(to);
}

std::vector<NamedTensor> MemoryModel::tensors() {
  std::vector<NamedTensor> all;
  set_.list("", all);
  state_.list("", all);
  return all;
}

SegmentNames MemoryModel::segment_names() const {
  SegmentNames names;
  for (std::size_t i = 0; i < layers_; ++i) names.blocks.push_back(layer_name(i));
  names.stages = names.blocks;
  return names;
}

Forward MemoryModel::forward(Tape& tape, const Batch&, const SegmentMarks& marks) {
  Arg hidden = input_;
  for (std::size_t i = 0; i < layers_; ++i) {
    hidden = marks.run(tape, layer_name(i), [&] { return layer(tape, i, std::move(hidden)); });
  }
  return {mean(tape, mul(tape, hidden, hidden)), std::nullopt};
}

void MemoryModel::declare_sources(Memory& memory, std::int64_t count) {
  source_count_ = count;
  if (count <= batch_) return;
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(i % batch_);
  source_list_ = make_index(memory, "sources", {count}, list);
}

Value MemoryModel::sources(Tape& tape, const Value& hidden, std::int64_t width) const {
  Value rows =
      source_list_.defined() ? gather_rows(tape, hidden, source_list_) : slice(tape, hidden, 0, 0, source_count_);
  return width < width_ ? slice(tape, rows, 1, 0, width) : rows;
}

ResidualMix::ResidualMix(ParameterSet& set, const std::string& name, std::int64_t width, std::int64_t read,
                         std::int64_t inner)
    : in_(set.add(name + ".in.weight", {inner, width + read}, Init::normal, width + read)),
      // Its part of the sum starts out small beside the hidden state: deviation 0.3 / sqrt(inner).
      out_(set.add(name + ".out.weight", {width, inner}, Init::normal,
                   std::llround(static_cast<double>(inner) / 0.09))) {}

Value ResidualMix::operator()(Tape& tape, const Arg& hidden, Arg read) const {
  Arg parts[] = {hidden, std::move(read)};
  Value inner = relu(tape, linear(tape, concat(tape, parts, 1), in_.leaf));
  return add(tape, hidden, linear(tape, std::move(inner), out_.leaf));
}

}  // namespace reprise
