// Statements that read and write state: ops, read, write, draw, set, bump, append.

#include "ops/draws.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "tools/conform/machine.h"
#include "tools/conform/operators.h"

namespace reprise::conform {

namespace {

/// The bytes that a write to `object` may change; null where it stands for none.
const Storage* storage_of_object(const Object& object) {
  if (const auto* value = std::get_if<Value>(&object)) return value->tensor().storage_ref().get();
  if (const auto* leaf = std::get_if<LeafObject>(&object)) return leaf->leaf->data.storage_ref().get();
  if (const auto* state = std::get_if<StateObject>(&object)) return state->tensor.storage_ref().get();
  return nullptr;
}

}  // namespace

void Machine::run_op(const Statement& s) {
  std::vector<Arg> in;
  for (const Operand& each : s.in) in.push_back(operand(each));
  for (const Arg& each : in) require_recorded(each, s);
  Value out = s.op->run(*tape_, in, s);
  in.clear();
  bind(s.out, std::move(out));
}

void Machine::run_read(const Statement& s) {
  Tape::NoGrad no_grad(*tape_);
  if (s.in[0].name.empty()) {
    if (s.region.kind != RegionSpec::Kind::all) fail(ErrorKind::user, "[read] expected no region of a number, got one");
    return bind(s.out, copied(s.in[0].number));
  }
  const Object& from = lookup(s.in[0].name);
  Arg of = constant_operand(from);
  if (s.region.kind == RegionSpec::Kind::rows) {
    return bind(s.out, gather_rows(*tape_, of, rows(s.region), s.region.wrap));
  }
  if (s.region.kind != RegionSpec::Kind::all) {
    const auto* state = std::get_if<StateObject>(&from);
    bool whole = std::holds_alternative<LeafObject>(from) || (state && !state->view);
    if (!whole) fail(ErrorKind::user, "[read] expected a span or block of a buffer or param, got '{}'", s.in[0].name);
    of = part(std::get<Tensor>(of.what()), s.region);
  }
  bind(s.out, copied(of));
}

void Machine::run_write(const Statement& s) {
  Object to = lookup(s.target);
  if (const auto* number = std::get_if<NumberRef>(&to)) {
    if (!(*number)->value) (*number)->value = copied((*number)->number);
    to = *(*number)->value;
  }
  if (const Storage* storage = watched_ ? storage_of_object(to) : nullptr) watched_->bytes.allow(*storage);
  Arg value = operand(s.value);
  if (const auto* target = std::get_if<Value>(&to)) {
    if (s.region.kind == RegionSpec::Kind::span || s.region.kind == RegionSpec::Kind::block) {
      fail(ErrorKind::user, "[write] expected a span or block of a buffer or param, got the value '{}'", s.target);
    }
    if (s.foreign) return write_foreign(s, *target, value);
    if (s.mode != WriteMode::assign || s.region.kind != RegionSpec::Kind::all) require_recorded(*target, s);
    require_recorded(value, s);
    return write_in_order(s, *target, value);
  }
  Tensor bytes;
  bool view = false;
  if (const auto* leaf = std::get_if<LeafObject>(&to); leaf && leaf->writable) bytes = leaf->leaf->data;
  if (const auto* state = std::get_if<StateObject>(&to); state && state->writable) {
    bytes = state->tensor;
    view = state->view;
  }
  if (!bytes.defined()) fail(ErrorKind::user, "[write] expected a buffer, view, param or value, got '{}'", s.target);
  if (view && (s.region.kind == RegionSpec::Kind::span || s.region.kind == RegionSpec::Kind::block)) {
    fail(ErrorKind::user, "[write] expected a span or block of a buffer or param, got the view '{}'", s.target);
  }
  if (s.region.kind != RegionSpec::Kind::rows) bytes = part(bytes, s.region);
  if (s.foreign) {
    write_foreign(s, bytes, value);
    return;
  }
  write_in_order(s, bytes, value);
}

/// `value` as what is assigned to all of a value: the gradient of the old one is zero, and as with any other write the
/// backward passes through to it, past hooks and to leaves. The framework itself would leave it out.
Arg Machine::passing_by(const Arg& to, const Arg& value) {
  const auto* old = std::get_if<Value>(&to.what());
  if (!old || !old->requires_grad() || !tape_->grad_enabled()) return value;
  return where(*tape_, 0.0, *old, value);
}

void Machine::write_in_order(const Statement& s, const Arg& to, const Arg& value) {
  if (s.region.kind == RegionSpec::Kind::rows) {
    Arg index = rows(s.region);
    switch (s.mode) {
      case WriteMode::assign: return assign_rows(*tape_, to, index, value, s.region.wrap);
      case WriteMode::add: return add_rows(*tape_, to, index, value, s.region.wrap);
      case WriteMode::mul: return mul_rows(*tape_, to, index, value, s.region.wrap);
    }
  }
  switch (s.mode) {
    case WriteMode::assign: return assign(*tape_, to, passing_by(to, value));
    case WriteMode::add: return add_into(*tape_, to, value);
    case WriteMode::mul: return mul_into(*tape_, to, value);
  }
}

/// A foreign generator's numbers come to the tape as data, as a batch would: the framework need not know their source.
void Machine::run_draw(const Statement& s) {
  Stream& stream = streams_.at(s.target);
  if (watched_) watched_->positions[s.target] += static_cast<std::uint64_t>(element_count(s.shape));
  if (program_.streams.at(s.target).kind != StreamKind::foreign) {
    Tape::NoGrad no_grad(*tape_);
    return bind(s.out, uniform(*tape_, stream, s.shape, program_.dtype));
  }
  DrawRange range{stream.seed, stream.id, stream.position, static_cast<std::uint64_t>(element_count(s.shape))};
  std::vector<double> numbers;
  for (std::uint64_t i = 0; i < range.count; ++i) numbers.push_back(static_cast<double>(range.uniform(i)));
  stream.take(range.count);
  bind(s.out, copied(constant_tensor(*tape_, program_.dtype, s.shape, numbers)));
}

void Machine::run_set(const Statement& s) {
  Cell& cell = find_cell(s.target);
  if (cell.data.kind == CellData::Kind::list)
    fail(ErrorKind::user, "[set] expected a number or tensor cell, got the list '{}'", s.target);
  if (cell.data.kind == CellData::Kind::number)
    cell.data.number = number(s.value);
  else
    cell.content = copied(operand(s.value));
}

void Machine::run_bump(const Statement& s) {
  Cell& cell = find_cell(s.target);
  if (cell.data.kind != CellData::Kind::number)
    fail(ErrorKind::user, "[bump] expected a number cell, got '{}'", s.target);
  cell.data.number += number(s.value);
}

void Machine::run_append(const Statement& s) {
  Cell& cell = find_cell(s.target);
  if (cell.data.kind != CellData::Kind::list)
    fail(ErrorKind::user, "[append] expected a list cell, got '{}'", s.target);
  Json item = s.literal;
  if (item.is_string()) {
    const Object* named = find(item.get<std::string>());  // a cell goes by the name of an argument too
    Cell* const* number = named ? std::get_if<Cell*>(named) : nullptr;
    if (number && (*number)->data.kind == CellData::Kind::number) item = (*number)->data.number;
  }
  cell.data.list.push_back(std::move(item));
}

}  // namespace reprise::conform
