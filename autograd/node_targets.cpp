// The part of NodeBackward that finds memory for the gradients which a formula makes: a sum that it adds to, memory
// that dies in this very node, or a block of its own. Every choice follows from counts that a dry trace has too.
//
// It would be wrong if a predicted peak were not the measured one, or if bytes differed once the program holds the
// operands: tests/autograd/saved_reuse_test.cpp looks for both.
#include <algorithm>

#include "autograd/array.h"
#include "autograd/guard_frame.h"
#include "autograd/lifetime.h"
#include "autograd/node_backward.h"

namespace reprise {

namespace {
// Who names the memory of a value while a formula reads it and nobody else has a claim: its record and what serves it.
constexpr int kNamesOfSaved = 2;
}  // namespace

/// Whether the formula reads bytes of `sum`, which it then must not add to on its way.
bool NodeBackward::reads(const Tensor& sum) const {
  bool found = false;
  for_each_bit(node_.saved_operands, [&](int i) { found |= operand_tensor(i).storage_ref() == sum.storage_ref(); });
  return found;
}

bool NodeBackward::direct_target(int index) {
  if (!op->accumulates) return false;
  const OperandRecord& operand = data_.operands[node_.first_operand + index];
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {  // the same target twice: only one formula may add to it
    const OperandRecord& other = data_.operands[node_.first_operand + i];
    if (i == index || other.kind != operand.kind || !(node_.wanted >> i & 1)) continue;
    if (operand.kind == OperandKind::value ? other.value == operand.value : other.leaf == operand.leaf) return false;
  }
  Target& target = targets_[index];
  if (operand.kind == OperandKind::leaf) {
    Leaf& leaf = *operand.leaf;
    if (!leaf.grad.defined() || !leaf.grad.contiguous() || leaf.grad.dtype() != leaf.data.dtype()) return false;
    // Whether it is empty must not matter for memory: one schedule serves the first micro-batch and those after it.
    if (reads(leaf.grad) || !op->fails_first) return false;
    target.tensor = leaf.grad;
    target.direct = !leaf.grad_empty;
    target.first = leaf.grad_empty;
    leaf.grad.storage().announce(leaf.grad.region(), Writer{op->name, index_, PreserveBy::as_asked, data_.step});
    return true;
  }
  const Tensor& sum = data_.values[operand.value].cotangent;
  if (!op->fails_first || !sum.defined() || sum.storage().ref_count() != 1) return false;
  target.tensor = sum;
  target.direct = true;
  return true;
}

bool NodeBackward::take_over(int index) {
  if (!op->fails_first) return false;
  if (others_want_gradient(index)) return take_saved(index) || take_gradient(index);
  return take_gradient(index) || take_saved(index);
}

/// Whether an output gradient that this one may take over would serve another operand too, which then has it.
bool NodeBackward::others_want_gradient(int index) const {
  const auto& pairs = node_.info->grad_reuse;
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& own) {
    return own.second == index && std::any_of(pairs.begin(), pairs.end(), [&](const auto& other) {
             bool waits = other.second != index && wants(other.second) && !targets_[other.second].tensor.defined();
             return waits && other.first == own.first;
           });
  });
}

bool NodeBackward::is_taken(const Tensor& source) const {
  return std::any_of(targets_.begin(), targets_.end(), [&](const Target& other) {
    return other.tensor.defined() && other.tensor.storage_ref() == source.storage_ref();
  });
}

bool NodeBackward::take_gradient(int index) {
  for (auto [result, operand] : node_.info->grad_reuse) {
    if (operand != index) continue;
    const Tensor& source = data_.values[node_.first_value + result].cotangent;
    const Tensor& like = operand_tensor(index);
    if (!source.defined() || source.storage().ref_count() != 1 || source.dtype() != like.dtype()) continue;
    if (!(source.shape() == like.shape()) || is_taken(source)) continue;
    targets_[index].tensor = source;
    targets_[index].taken = true;
    return true;
  }
  return false;
}

/// The saved bytes that `from` means, if this formula is the last to ask for them: no handle names the value, nothing
/// else owes it, no view shares its memory, and none of its bytes are owed as they were at another time.
const Tensor* NodeBackward::last_use(const OpInfo::FromSaved& from) const {
  bool is_operand = from.kind == Saved::From::operand;
  const OperandRecord* operand = is_operand ? &data_.operands[node_.first_operand + from.from] : nullptr;
  if (!((is_operand ? node_.saved_operands : node_.saved_results) >> from.from & 1)) return nullptr;
  if (operand && operand->kind != OperandKind::value) return nullptr;
  const ValueRecord& value = data_.values[operand ? operand->value : node_.first_value + from.from];
  const Tensor* found = nullptr;
  if (value.replay.defined()) {
    bool last = value.segment == node_.segment && value.replay_uses == 1 && value.replay_read == kNoRead;
    if (last) found = &value.replay;
  } else {
    bool counted = (is_operand ? node_.owed_operands : node_.owed_results) >> from.from & 1;
    bool last = counted && value.owed == 1 && !value.handle && value.read == kNoRead && !data_.backward.keep;
    if (last) found = &value.tensor;
  }
  if (!found || !found->defined()) return nullptr;
  const Storage& storage = found->storage();
  bool alone = storage.ref_count() == kNamesOfSaved && storage.obligations == 0 && !storage.is_constant();
  return alone && found->contiguous() && storage.bytes() == found->bytes() ? found : nullptr;
}

bool NodeBackward::take_saved(int index) {
  const Tensor& like = operand_tensor(index);
  for (const OpInfo::FromSaved& from : node_.info->saved_reuse) {
    if (from.operand != index) continue;
    const Tensor* source = last_use(from);
    if (!source || source->dtype() != like.dtype() || !(source->shape() == like.shape())) continue;
    targets_[index].tensor = *source;
    targets_[index].taken = true;
    targets_[index].others = kNamesOfSaved;
    return true;
  }
  return false;
}

void NodeBackward::make_target(int index) {
  Target& target = targets_[index];
  const OperandRecord& operand = data_.operands[node_.first_operand + index];
  bool fresh_leaf = operand.kind == OperandKind::leaf && !operand.leaf->grad.defined();
  // A gradient made here stays as the leaf's; memory taken over would have to be copied into one.
  if (!direct_target(index) && (fresh_leaf || !take_over(index))) {
    const Tensor& like = operand_tensor(index);
    target.tensor = make_tensor(tape_.memory().allocator(), fresh_leaf ? tape_.memory().observer() : nullptr,
                                like.dtype(), like.shape(), fresh_leaf ? Category::gradients : Category::cotangents);
    if (tape_.guard()) fill_guard_pattern(target.tensor.view().data, target.tensor.bytes(), like.dtype(), 0);
  }
  target.view = target.tensor.view();
}

}  // namespace reprise
