// The first part of NodeBuilder: what its operands are, and which of their bytes the op reads and writes.

#include <bit>
#include <cmath>

#include "autograd/node_builder.h"
#include "autograd/recorded_operands.h"
#include "core/error.h"

namespace reprise {

namespace {

const OperandRecord kBlankOperand;  // see the note in node_builder.cpp
const OperandShape kBlankShape;

class Regions final : public RecordedOperands {
 public:
  Regions(const NodeRecord& node, TapeData& data, Preserver& preserver)
      : RecordedOperands(node, data), data_(data), preserver_(preserver) {}
  TensorView view(int index) const override {
    const Tensor& tensor = operand(index);
    if (!tensor.storage().host_read() && !data_.data_dependent) {
      data_.data_dependent = true;
      preserver_.set_bounding(true);  // until the tape is cleared
    }
    return tensor.view();
  }

 private:
  TapeData& data_;
  Preserver& preserver_;
};

}  // namespace

void NodeBuilder::resolve_operands() {
  int declared_inputs = op_.input_count(), updates = op_.update_count();
  int given = static_cast<int>(args_.size());
  int inputs = op_.variadic ? given - updates : declared_inputs;
  if (given > kMaxOperands || given < info_.required_inputs + updates ||
      (!op_.variadic && given > declared_inputs + updates)) {
    fail(ErrorKind::user, "[{}] expected {} operands, got {}", op_.name, declared_inputs + updates, given);
  }
  node_.inputs = static_cast<std::uint16_t>(inputs);
  node_.updates = static_cast<std::uint16_t>(updates);
  node_.outputs = static_cast<std::uint16_t>(op_.outputs.size());
  scratch_.shapes.resize(static_cast<std::size_t>(inputs + updates), kBlankShape);
  int left_out = inputs + updates - given;
  for (int i = 0; i < inputs + updates; ++i) {
    OperandRecord& operand = data_.operands.emplace_back(kBlankOperand);
    OperandShape& shape = scratch_.shapes[i];
    shape.present = false;
    int arg = i < inputs ? i : i - left_out;
    bool omitted = i < inputs && i >= given - updates;
    if (!omitted) resolve_one(operand, args_[arg]);
    if (operand.kind == OperandKind::absent) {
      absent_ |= Mask{1} << i;
      shape = kBlankShape;
      if (omitted) continue;
      if (i < info_.required_inputs || i >= inputs)
        fail(ErrorKind::user, "[{}] expected operand {}, got none", op_.name, i);
      continue;
    }
    const Tensor& tensor = tensor_of(data_, operand);
    shape.dtype = tensor.dtype();
    shape.shape = tensor.shape();
    shape.strides = tensor.strides();
    shape.present = true;
  }
}

DType NodeBuilder::number_dtype() const {
  DType integer = DType::f32;
  bool has_integer = false;
  for (const Arg& arg : args_) {
    if (std::holds_alternative<double>(arg.what()) || std::holds_alternative<std::monostate>(arg.what())) continue;
    if (is_floating(arg.dtype())) return arg.dtype();
    integer = arg.dtype();
    has_integer = true;
  }
  return has_integer ? integer : tape_.options().default_dtype;
}

void NodeBuilder::resolve_one(OperandRecord& operand, const Arg& arg) {
  if (const Value* value = std::get_if<Value>(&arg.what())) {
    const Handle* handle = value->handle().get();
    if (!handle || handle->tape != &tape_) {
      value->id();  // says so where the handle is empty or its tape was cleared
      fail(ErrorKind::user, "[{}] expected a value of this tape, got one of another", op_.name);
    }
    operand.kind = OperandKind::value;
    operand.value = handle->value;
  } else if (const LeafRef* leaf = std::get_if<LeafRef>(&arg.what())) {
    operand.tensor = leaf_data(*leaf);
    operand.kind = OperandKind::leaf;
    operand.leaf = *leaf;
  } else if (const Tensor* state = std::get_if<Tensor>(&arg.what())) {
    if (!state->defined()) return;
    operand.kind = OperandKind::state;
    operand.tensor = *state;
  } else if (const double* number = std::get_if<double>(&arg.what())) {
    DType dtype = number_dtype();
    if (!is_floating(dtype) && *number != std::floor(*number)) dtype = tape_.options().default_dtype;
    operand.kind = OperandKind::state;
    operand.tensor = constant(*number, dtype);
  }
}

/// The tape's constants, by way of the few that were asked for last: a program uses the same numbers again and again.
const Tensor& NodeBuilder::constant(double number, DType dtype) {
  auto bits = std::bit_cast<std::uint64_t>(number);
  auto& recent = scratch_.constants[(bits ^ bits >> 29 ^ bits >> 47) % scratch_.constants.size()];
  if (recent.bits != bits || recent.dtype != dtype || !recent.tensor.defined()) {
    recent = {bits, dtype, tape_.constant(number, dtype)};
  }
  return recent.tensor;
}

void NodeBuilder::find_regions() {
  Regions context(node_, data_, preserver_);
  scratch_.regions.resize(static_cast<std::size_t>(node_.inputs + node_.updates));
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    if (!scratch_.regions[i].empty()) scratch_.regions[i] = Region();
    const OperandRecord& operand = record(i);
    if (operand.kind == OperandKind::absent || (operand.kind == OperandKind::value && i < node_.inputs)) continue;
    const Tensor& tensor = context.operand(i);
    if (tensor.storage().is_constant()) continue;
    tensor.storage().require_readable(op_.name);
    scratch_.regions[i] = op_.region ? op_.region(context, i) : tensor.region();
  }
}

}  // namespace reprise
