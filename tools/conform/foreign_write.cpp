// A write that bypasses the framework: through the bytes, past every door. Nobody is told.
#include "autograd/array.h"
#include "ops/operands.h"
#include "ops/state.h"
#include "tools/conform/machine.h"
#include "tools/conform/operators.h"

namespace reprise::conform {

namespace {

/// The bytes that an operand stands for, as a tensor; of a number a tensor of no axes in `like`, or in f64 where it
/// would not be exact.
Tensor tensor_of(Tape& tape, const Arg& arg, DType like) {
  if (const auto* value = std::get_if<Value>(&arg.what())) return value->tensor();
  if (const auto* leaf = std::get_if<LeafRef>(&arg.what())) return (*leaf)->data;
  if (const auto* state = std::get_if<Tensor>(&arg.what())) return *state;
  bool fits = is_floating(like) || !is_fractional(arg);
  return tape.constant(std::get<double>(arg.what()), fits ? like : DType::f64);
}

/// Where element `flat` of `shape` lies in a tensor that is broadcast to it.
std::int64_t broadcast_offset(const Shape& shape, std::int64_t flat, const Tensor& from) {
  std::int64_t at = 0;
  for (int i = 1; i <= shape.size(); ++i) {
    std::int64_t index = flat % shape[shape.size() - i];
    flat /= shape[shape.size() - i];
    int axis = from.shape().size() - i;
    if (axis >= 0 && from.shape()[axis] > 1) at += index * from.strides()[axis];
  }
  return at;
}

template <class T>
T joined(WriteMode mode, T old, T value) {
  if (mode == WriteMode::add) return old + value;
  return mode == WriteMode::mul ? old * value : value;
}

/// Element `at` of `to` and element `from_at` of `from`: in integers if both are, else in double.
void write_element(WriteMode mode, const TensorView& to, std::int64_t at, const TensorView& from,
                   std::int64_t from_at) {
  if (to.dtype == DType::i64 && from.dtype == DType::i64) {
    auto old = static_cast<std::uint64_t>(to.as<std::int64_t>()[at]);  // wraps around
    auto value = static_cast<std::uint64_t>(from.as<std::int64_t>()[from_at]);
    to.as<std::int64_t>()[at] = static_cast<std::int64_t>(joined(mode, old, value));
    return;
  }
  store_as_double(to, at, joined(mode, load_as_double(to, at), load_as_double(from, from_at)));
}

}  // namespace

/// The value's bytes, which in this language are its own. A view of the tape may share them with another value that has
/// a name; a write in order that changes nothing parts them, as every such write does.
Tensor Machine::own_bytes(const Value& value) {
  const TapeData& data = tape_->data();
  if (data.values[data.values[value.id()].root].alias_handles > 1) mul_into(*tape_, value, 1.0);
  return value.tensor();
}

/// A write to a value is differentiable, and the tape was not told of this one: what it would have changed of the
/// derivative cannot be had any more, so that the value is good for reads only.
void Machine::write_foreign(const Statement& s, const Value& to, const Arg& value) {
  bool differentiable = to.requires_grad() && s.mode != WriteMode::add;
  if (const auto* from = std::get_if<Value>(&value.what())) differentiable |= from->requires_grad();
  differentiable |= std::holds_alternative<LeafRef>(value.what());
  if (write_foreign(s, own_bytes(to), value) > 0 && differentiable) unrecorded_[to.id()] = s.path;
}

void Machine::require_recorded(const Arg& arg, const Statement& s) const {
  const auto* value = std::get_if<Value>(&arg.what());
  auto at = value ? unrecorded_.find(value->id()) : unrecorded_.end();
  if (at == unrecorded_.end()) return;
  fail(ErrorKind::replay,
       "[{}] expected a value whose derivative is recorded, got one that the foreign write at {} changed",
       s.op ? s.op->name : "conform", at->second);
}

/// How many elements were written.
std::int64_t Machine::write_foreign(const Statement& s, const Tensor& to, const Arg& value) {
  Tensor from = tensor_of(*tape_, value, to.dtype());
  Shape region = to.shape();
  std::vector<std::int64_t> picked;
  bool by_rows = s.region.kind == RegionSpec::Kind::rows;
  if (by_rows) {
    if (region.empty()) fail(ErrorKind::user, "[write] expected rows, got a scalar");
    picked = row_numbers(s.region, region[0]);
    region[0] = static_cast<std::int64_t>(picked.size());
  }
  Shape fitted;
  if (!broadcast_shapes(region, from.shape(), &fitted) || !(fitted == region)) {
    fail(ErrorKind::user, "[write] expected a value that broadcasts to {}, got {}", to_string(region),
         to_string(from.shape()));
  }
  // Puts the newest bytes back, as whoever writes past the doors would find them; the value may share them.
  from.storage().host_read();
  Tensor values = make_tensor(memory_.allocator(), nullptr, from.dtype(), from.shape(), Category::data);
  copy_strided(from.view(), values.view());
  to.storage().host_read();
  TensorView view = to.view();
  std::int64_t count = element_count(region), row = count > 0 && by_rows ? count / region[0] : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t flat = by_rows ? picked[static_cast<std::size_t>(i / row)] * row + i % row : i;
    write_element(s.mode, view, broadcast_offset(to.shape(), flat, to), values.view(),
                  broadcast_offset(region, i, values));
  }
  return count;
}

/// The rows of a region as numbers of rows that are there.
std::vector<std::int64_t> Machine::row_numbers(const RegionSpec& region, std::int64_t count) {
  Tensor list = tensor_of(*tape_, rows(region), DType::i64);
  std::vector<std::int64_t> numbers;
  for (std::int64_t index : list.host_read<std::int64_t>()) {
    if (region.wrap && count > 0) index = (index % count + count) % count;
    if (index < 0 || index >= count)
      throw IndexError(fmt::format("[write] expected a row in [0, {}), got {}", count, index));
    numbers.push_back(index);
  }
  return numbers;
}

}  // namespace reprise::conform
