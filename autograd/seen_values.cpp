#include "autograd/seen_values.h"

#include <algorithm>

#include "autograd/array.h"
#include "core/byte_hash.h"
#include "core/recycled.h"

namespace reprise {

namespace {

/// Of the elements in their order, so that two layouts of the same numbers agree.
std::uint64_t hash_of(const TensorView& view) {
  auto bytes = static_cast<std::size_t>(view.bytes());
  if (bytes == 0 || view.contiguous()) return hash_bytes(view.data, bytes);
  std::vector<std::byte> packed(bytes);
  copy_strided(view, {packed.data(), view.dtype, view.shape, contiguous_strides(view.shape)});
  return hash_bytes(packed.data(), bytes);
}

}  // namespace

void SeenValues::begin_node(std::uint32_t first_operand, ValueId first_value, int results) {
  operands_.resize(std::min<std::size_t>(operands_.size(), first_operand));
  results_.resize(std::min<std::size_t>(results_.size(), first_value));
  grow_room(results_, first_value - results_.size() + static_cast<std::size_t>(results));
}

void SeenValues::note(std::vector<Seen>& list, std::size_t at, const TensorView& view, const Storage& storage) {
  if (list.size() <= at) list.resize(at + 1);
  list[at] = {true, hash_of(view), version_of(storage)};
}

void SeenValues::note_operand(std::uint32_t index, const TensorView& view, const Storage& storage) {
  note(operands_, index, view, storage);
}

void SeenValues::note_result(ValueId value, const TensorView& view, const Storage& storage) {
  note(results_, value, view, storage);
}

void SeenValues::clear() {
  operands_.clear();
  results_.clear();
}

void SeenValues::check(const std::vector<Seen>& list, std::size_t at, const TapeData& data, std::uint32_t node,
                       ValueId value, const char* name, const TensorView& now) {
  if (at >= list.size() || !list[at].noted || hash_of(now) == list[at].hash) return;
  const ValueRecord& record = data.values[value];
  const NodeRecord& reader = data.nodes[node];
  const char* segment = reader.segment == kNone ? "" : data.segments[reader.segment].name;
  bool replayed = record.replay.defined();
  const Tensor& tensor = replayed ? record.replay : record.tensor;
  StorageVersion stands = version_of(tensor.storage());
  fail_other_bytes({segment, reader.op->name, name}, tensor.storage().name(), tensor.region(), list[at].version,
                   replayed ? nullptr : &stands);
}

void SeenValues::check_operand(const TapeData& data, std::uint32_t node, int operand, const TensorView& now) const {
  const NodeRecord& reader = data.nodes[node];
  std::uint32_t at = reader.first_operand + static_cast<std::uint32_t>(operand);
  const char* name = operand >= reader.inputs
                         ? reader.op->updates[static_cast<std::size_t>(operand - reader.inputs)]
                         : reader.op->inputs[static_cast<std::size_t>(std::min(operand, reader.op->input_count() - 1))];
  check(operands_, at, data, node, data.operands[at].value, name, now);
}

void SeenValues::check_result(const TapeData& data, std::uint32_t node, int result, const TensorView& now) const {
  const NodeRecord& maker = data.nodes[node];
  ValueId value = maker.first_value + static_cast<ValueId>(result);
  auto outputs = static_cast<int>(maker.op->outputs.size()), made = static_cast<int>(maker.op->made.size());
  const char* name = result < outputs          ? maker.op->outputs[static_cast<std::size_t>(result)]
                     : result < outputs + made ? maker.op->made[static_cast<std::size_t>(result - outputs)]
                                               : "updated";
  check(results_, value, data, node, value, name, now);
}

}  // namespace reprise
