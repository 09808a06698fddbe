#include "autograd/value.h"

#include "autograd/tape.h"
#include "core/error.h"

namespace reprise {

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void fail_without_tape(const Handle* handle) {
  if (!handle) fail(ErrorKind::user, "[value] expected a value, got an empty handle");
  fail(ErrorKind::user, "[value] expected a value of a living tape, got one whose tape was cleared");
}

const Handle& living(const Value& value) {
  const Handle* handle = value.handle().get();
  if (!handle || !handle->tape) fail_without_tape(handle);
  return *handle;
}

const ValueRecord& record_of(const Value& value) {
  const Handle& handle = living(value);
  return handle.tape->data().values[handle.value];
}

}  // namespace

ValueId Value::id() const { return living(*this).value; }
Tape& Value::tape() const { return *living(*this).tape; }

const Shape& Value::shape() const { return record_of(*this).tensor.shape(); }
DType Value::dtype() const { return record_of(*this).tensor.dtype(); }
bool Value::requires_grad() const { return record_of(*this).requires_grad; }
Tensor Value::tensor() const { return record_of(*this).tensor; }

double Value::item() const {
  Tensor bytes = tensor();
  if (bytes.size() != 1) fail(ErrorKind::user, "[item] expected one element, got shape {}", to_string(bytes.shape()));
  return bytes.to_doubles()[0];
}

const Tensor& leaf_data(const LeafRef& leaf) {
  if (!leaf) fail(ErrorKind::user, "[operand] expected a leaf, got a null one. Make it with Leaf::create() first.");
  if (!leaf->data.defined()) fail(ErrorKind::user, "[operand] expected a leaf with data, got '{}' without", leaf->name);
  return leaf->data;
}

Shape Arg::shape() const {
  if (const Value* value = std::get_if<Value>(&what_)) return value->shape();
  if (const LeafRef* leaf = std::get_if<LeafRef>(&what_)) return leaf_data(*leaf).shape();
  if (const Tensor* state = std::get_if<Tensor>(&what_)) return state->shape();
  if (std::holds_alternative<double>(what_)) return Shape{};
  fail(ErrorKind::user, "[operand] expected a value, leaf, state or number, got none");
}

DType Arg::dtype() const {
  if (const Value* value = std::get_if<Value>(&what_)) return value->dtype();
  if (const LeafRef* leaf = std::get_if<LeafRef>(&what_)) return leaf_data(*leaf).dtype();
  if (const Tensor* state = std::get_if<Tensor>(&what_)) return state->dtype();
  return DType::f32;
}

}  // namespace reprise
