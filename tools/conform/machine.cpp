#include "tools/conform/machine.h"

#include <algorithm>

#include "ops/cast.h"
#include "ops/registry.h"
#include "ops/shape_ops.h"
#include "tools/conform/operators.h"

namespace reprise::conform {
namespace {

TensorData data_of(const Tensor& tensor) {
  TensorData data;
  data.dtype = tensor.dtype();
  data.shape = tensor.shape();
  if (tensor.dtype() == DType::i64) {
    auto from = tensor.host_read<std::int64_t>();
    data.integers.assign(from.begin(), from.end());
  } else {
    data.reals = tensor.to_doubles();
  }
  return data;
}

}  // namespace

Machine::Machine(const Program& program, Memory& memory, const MachineOptions& options)
    : program_(program), memory_(memory), options_(options), policy_(make_policy(options.method, options.seed)) {
  register_builtin_ops();
  memory_.preserver().set_guard(true);
  memory_.preserver().set_unchecked(options.method == Method::unchecked);
  declare(program);
  tape_ = std::make_unique<Tape>(memory_, TapeOptions{.default_dtype = program.dtype, .guard = true});
  tape_->set_policy(policy_.get());
  tape_->set_replayer(&replayer_);
  tape_->set_observer(options.observer);
  watch_states();
  declared_bytes_ = memory_.meter().live();
  main_.locals = std::make_shared<Scope>();
  frame_ = &main_;
}

Tensor Machine::state(const std::string& name, const TensorData& data, Category category) {
  Tensor tensor = make_tensor(memory_.allocator(), memory_.observer(), data.dtype, data.shape, category);
  tensor.storage().set_name(name);
  if (data.dtype == DType::i64)
    std::copy(data.integers.begin(), data.integers.end(), tensor.host_write<std::int64_t>().begin());
  else
    tensor.assign_doubles(data.reals);
  return tensor;
}

void Machine::declare(const Program& program) {
  for (const auto& [name, input] : program.inputs) {
    if (input.kind == InputKind::frozen) {
      declared_[name] = StateObject{state(name, input.data, Category::data), false, false};
    } else {
      LeafRef leaf = Leaf::create(name, state(name, input.data, Category::parameters));
      declared_[name] = LeafObject{leaf, input.kind == InputKind::param};
    }
  }
  for (const auto& [name, data] : program.buffers)
    declared_[name] = StateObject{state(name, data, Category::state), true, false};
  for (const auto& [name, view] : program.views) {
    const auto& of = std::get<StateObject>(declared_.at(view.of));
    try {
      declared_[name] = StateObject{part(of.tensor, view.region), true, true};
    } catch (Error& error) {
      error.add_context("at /views/" + name);
      throw;
    }
  }
  for (const auto& [name, decl] : program.streams) streams_[name] = Stream{name, decl.seed, decl.id, 0};
  for (const auto& [name, decl] : program.cells) {
    Cell& cell = cells_[name];
    cell.data = decl;
    if (decl.kind == CellData::Kind::tensor) cell.content = state(name, decl.tensor, Category::state);
    declared_[name] = &cell;
  }
  contexts_ = program.contexts;
}

/// Everything declared, from the first op on: the guard would find the rest only once an op was given it.
void Machine::watch_states() {
  for (const auto& [name, object] : declared_) {
    if (const auto* leaf = std::get_if<LeafObject>(&object)) tape_->watch(leaf->leaf->data.storage_ref());
    if (const auto* state = std::get_if<StateObject>(&object)) tape_->watch(state->tensor.storage_ref());
    Cell* const* cell = std::get_if<Cell*>(&object);
    if (cell && (*cell)->data.kind == CellData::Kind::tensor)
      tape_->watch(std::get<Tensor>((*cell)->content.what()).storage_ref());
  }
  for (auto& [name, stream] : streams_) tape_->watch(stream);
}

const Object* Machine::find(const std::string& name) const {
  for (const Scope* scope : {static_cast<const Scope*>(frame_->locals.get()), frame_->outer, &declared_}) {
    if (!scope) continue;
    if (auto at = scope->find(name); at != scope->end()) return &at->second;
  }
  return nullptr;
}

const Object& Machine::lookup(const std::string& name) const {
  const Object* object = find(name);
  if (!object) fail(ErrorKind::user, "[name] expected a value or a declared name, got '{}'", name);
  return *object;
}

Arg Machine::operand(const Operand& operand) {
  if (operand.name.empty()) return operand.number;
  return this->operand(lookup(operand.name));
}

Arg Machine::operand(const Object& object) {
  if (const auto* leaf = std::get_if<LeafObject>(&object)) return leaf->leaf;
  return constant_operand(object);
}

/// A leaf stands for its bytes, without a way back for gradients.
Arg Machine::constant_operand(const Object& object) {
  if (const auto* value = std::get_if<Value>(&object)) return *value;
  if (const auto* leaf = std::get_if<LeafObject>(&object)) return leaf->leaf->data;
  if (const auto* state = std::get_if<StateObject>(&object)) return state->tensor;
  if (const auto* number = std::get_if<NumberRef>(&object)) {
    if ((*number)->value) return *(*number)->value;
    return (*number)->number;
  }
  const Cell& cell = *std::get<Cell*>(object);
  if (cell.data.kind == CellData::Kind::number) return cell.data.number;
  if (cell.data.kind == CellData::Kind::tensor) return cell.content;
  std::vector<double> numbers;
  for (const Json& item : cell.data.list) {
    if (!item.is_number())
      fail(ErrorKind::user, "[cell] expected a list of numbers as operand, got a literal that is none");
    numbers.push_back(item.get<double>());
  }
  return constant_tensor(*tape_, program_.dtype, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

Cell& Machine::find_cell(const std::string& name) {
  const Object& object = lookup(name);
  if (Cell* const* cell = std::get_if<Cell*>(&object)) return **cell;
  fail(ErrorKind::user, "[cell] expected a cell, got '{}', which is none", name);
}

double Machine::number(const Operand& operand) {
  if (operand.name.empty()) return operand.number;
  const Object& object = lookup(operand.name);
  const auto* literal = std::get_if<NumberRef>(&object);
  if (literal && !(*literal)->value) return (*literal)->number;
  Cell& cell = find_cell(operand.name);
  if (cell.data.kind != CellData::Kind::number)
    fail(ErrorKind::user, "[cell] expected a number cell, got '{}'", operand.name);
  return cell.data.number;
}

/// A span or block of a whole buffer as a view of its storage.
Tensor Machine::part(const Tensor& tensor, const RegionSpec& region) const {
  if (region.kind == RegionSpec::Kind::all) return tensor;
  std::int64_t lowest = region.offset, highest = region.offset;
  for (int i = 0; i < region.shape.size(); ++i) {
    std::int64_t reach = (region.shape[i] - 1) * region.strides[i];  // at most 2^48
    (reach < 0 ? lowest : highest) += reach;
  }
  bool empty = element_count(region.shape) == 0;
  if (!empty && (lowest < 0 || highest >= tensor.size())) {
    throw IndexError(
        fmt::format("[region] expected elements within [0, {}), got {} to {}", tensor.size(), lowest, highest));
  }
  if (empty) return tensor.with_view(region.shape, contiguous_strides(region.shape), tensor.offset());
  return tensor.with_view(region.shape, region.strides, tensor.offset() + region.offset);
}

Arg Machine::rows(const RegionSpec& region) {
  if (!region.rows_from) {
    Tensor rows = make_tensor(memory_.allocator(), nullptr, DType::i64, {static_cast<std::int64_t>(region.rows.size())},
                              Category::data);
    std::copy(region.rows.begin(), region.rows.end(), rows.host_write<std::int64_t>().begin());
    rows.storage().mark_constant();
    return rows;
  }
  Arg rows = operand(*region.rows_from);
  if (const double* number = std::get_if<double>(&rows.what())) rows = tape_->constant(*number, DType::i64);
  if (is_floating(rows.dtype())) rows = cast(*tape_, rows, DType::i64);
  return flat_rows(*tape_, rows);
}

Value Machine::copied(const Arg& arg) {
  Tape::NoGrad no_grad(*tape_);
  if (const double* number = std::get_if<double>(&arg.what()))
    return copy(*tape_, tape_->constant(*number, program_.dtype));
  if (const auto* leaf = std::get_if<LeafRef>(&arg.what())) return copy(*tape_, (*leaf)->data);
  return copy(*tape_, arg);
}

// ---- what stands at the end

TensorData Machine::gradient(const std::string& input) const {
  const Leaf& leaf = *std::get<LeafObject>(declared_.at(input)).leaf;
  if (!leaf.grad_empty) return data_of(leaf.grad);
  TensorData zeros;
  zeros.dtype = leaf.data.dtype();
  zeros.shape = leaf.data.shape();
  zeros.reals.resize(static_cast<std::size_t>(leaf.data.size()), 0.0);
  return zeros;
}

TensorData Machine::bytes(const std::string& name) const {
  const Object& object = declared_.at(name);
  if (const auto* leaf = std::get_if<LeafObject>(&object)) return data_of(leaf->leaf->data);
  return data_of(std::get<StateObject>(object).tensor);
}

CellData Machine::cell(const std::string& name) const {
  const Cell& cell = cells_.at(name);
  CellData data = cell.data;
  if (data.kind == CellData::Kind::tensor) {
    const Value* value = std::get_if<Value>(&cell.content.what());
    data.tensor = data_of(value ? value->tensor() : std::get<Tensor>(cell.content.what()));
  }
  return data;
}

std::int64_t Machine::clear_tape() {
  tape_->clear();
  const Meter& meter = memory_.meter();
  return std::max<std::int64_t>(0, meter.live() - meter.live(Category::gradients) - declared_bytes_);
}

std::int64_t Machine::replays(const std::string& segment) const {
  const TapeData& data = tape_->data();
  std::int64_t most = 0;
  for (std::size_t i = 0; i < replayer_.replays().size(); ++i) {
    if (data.segments[i].name == segment) most = std::max<std::int64_t>(most, replayer_.replays()[i]);
  }
  for (const NodeRecord& node : data.nodes) {
    if (node.label && node.label == segment) most = std::max(most, static_cast<std::int64_t>(node.runs) - 1);
  }
  return most;
}

}  // namespace reprise::conform
