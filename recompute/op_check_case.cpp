#include "core/philox.h"
#include "ops/shape_ops.h"
#include "recompute/op_check.h"

namespace reprise {

Arg CheckOperand::operator()(Tape& tape) const {
  Arg own = leaf ? Arg(leaf) : Arg(tensor);
  return *as_value ? Arg(copy(tape, own)) : own;
}

std::vector<double> CheckCase::random(std::int64_t count, const CheckFill& fill) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::uint64_t id = 1000 + items_.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word = philox_word(7, id, i);
    double x = fill.lo + (fill.hi - fill.lo) * uniform_from_word(word);
    if (fill.away > 0 && x > -fill.away && x < fill.away) x += x < 0 ? -fill.away : fill.away;
    values[i] = static_cast<double>(static_cast<float>(x));
  }
  return values;
}

CheckOperand CheckCase::add(Tensor tensor, bool leaf, bool state, std::vector<double> values) {
  Item item;
  item.name = fmt::format("{}{}", state ? "state" : leaf ? "leaf" : "input", items_.size());
  tensor.storage().set_name(item.name);
  tensor.assign_doubles(values);
  item.is_state = state;
  item.operand.tensor = tensor;
  item.operand.as_value = as_value_;
  if (leaf) item.operand.leaf = Leaf::create(item.name, tensor);
  items_.push_back(item);
  return item.operand;
}

CheckOperand CheckCase::leaf(const Shape& shape, const CheckFill& fill) {
  return leaf(shape, random(element_count(shape), fill));
}

CheckOperand CheckCase::leaf(const Shape& shape, std::vector<double> values) {
  return add(make_tensor(memory_.allocator(), memory_.observer(), dtype_, shape, Category::parameters), true, false,
             std::move(values));
}

CheckOperand CheckCase::input(const Shape& shape, const CheckFill& fill) {
  return input(shape, random(element_count(shape), fill));
}

CheckOperand CheckCase::input(const Shape& shape, std::vector<double> values) {
  return add(make_tensor(memory_.allocator(), memory_.observer(), dtype_, shape, Category::data), false, false,
             std::move(values));
}

CheckOperand CheckCase::integers(const Shape& shape, std::vector<double> values, DType dtype) {
  return add(make_tensor(memory_.allocator(), memory_.observer(), dtype, shape, Category::data), false, false,
             std::move(values));
}

Tensor CheckCase::state(const Shape& shape, const CheckFill& fill) {
  return state(shape, random(element_count(shape), fill), dtype_);
}

Tensor CheckCase::state(const Shape& shape, std::vector<double> values, DType dtype) {
  return add(make_tensor(memory_.allocator(), memory_.observer(), dtype, shape, Category::state), false, true,
             std::move(values))
      .tensor;
}

Stream& CheckCase::stream() {
  streams_.push_back(
      std::make_unique<Stream>(Stream{fmt::format("stream{}", streams_.size()), 11, streams_.size(), 5}));
  return *streams_.back();
}

}  // namespace reprise
