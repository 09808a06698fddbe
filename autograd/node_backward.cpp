#include "autograd/node_backward.h"

#include <algorithm>

#include "autograd/array.h"
#include "autograd/guard_frame.h"
#include "autograd/lifetime.h"
#include "core/error.h"

namespace reprise {

namespace {
// Copied where entries are made anew: see the note in node_builder.cpp.
const TensorView kNoView;

std::string name_at(const std::vector<const char*>& names, int index) {
  return index >= 0 && index < static_cast<int>(names.size()) ? plain_name(names[index]) : "?";
}

[[noreturn]] void fail_not_saved(const Op& op, const char* what, int index, const char* role, const std::string& name) {
  fail(ErrorKind::internal,
       "[{}] its backward reads {} {}, which .saves does not name for the wanted gradients. Add {}(\"{}\") to the rule "
       "of each gradient that needs it.",
       op.name, what, index, role, name);
}
const BackwardScratch::Target kNoTarget;
}  // namespace

NodeBackward::NodeBackward(Tape& tape, std::uint32_t node, BackwardScratch& scratch)
    : tape_(tape),
      data_(tape.data()),
      index_(node),
      node_(tape.data().nodes[node]),
      scratch_(scratch),
      serving_(scratch.serving),
      in_(scratch.in),
      out_(scratch.out),
      grad_out_(scratch.grad_out),
      targets_(scratch.targets) {
  op = node_.op;
  attrs = &node_.attrs;
  inputs = node_.inputs;
  updates = node_.updates;
  draw = node_.draw;
}

NodeBackward::~NodeBackward() {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].made) data_.operands[node_.first_operand + i].leaf->grad = Tensor();
  }
  targets_.clear();
  serving_.clear();
}

const Tensor& NodeBackward::operand_tensor(int index) const {
  return tensor_of(data_, data_.operands[node_.first_operand + index]);
}

void NodeBackward::prepare() {
  save_accumulators();
  serve_saved();
  grad_out_.assign(node_.results, kNoView);
  for (int r = 0; r < node_.results; ++r) {
    const Tensor& cotangent = data_.values[node_.first_value + r].cotangent;
    if (cotangent.defined()) grad_out_[r] = cotangent.view();
  }
  if (node_.backward_workspace > 0) {
    workspace_ = Storage::create(tape_.memory().allocator(), nullptr, node_.backward_workspace, Category::workspace);
    workspace = workspace_->raw();
    workspace_bytes = node_.backward_workspace;
  }
  targets_.assign(node_.inputs + node_.updates, kNoTarget);
  pass_through();
  for_each_bit(node_.wanted & ~passed_, [&](int i) { make_target(i); });
}

/// What is owed of the accumulators that announce() will speak of is saved before anything is served and the formula
/// runs: a formula that has added to sums must not run again for want of memory.
void NodeBackward::save_accumulators() {
  for_each_bit(node_.wanted, [&](int i) {
    const OperandRecord& operand = data_.operands[node_.first_operand + i];
    if (operand.kind != OperandKind::leaf) return;
    const Tensor& sum = operand.leaf->grad;
    if (sum.defined() && sum.storage().obligations > 0)
      sum.storage().announce(sum.region(), Writer{op->name, index_, PreserveBy::as_asked, data_.step});
  });
}

void NodeBackward::serve_saved() {
  in_.assign(node_.inputs + node_.updates, kNoView);
  out_.assign(node_.results, kNoView);
  auto& wanted = scratch_.served;
  wanted.clear();
  auto add_value = [&](int operand, ValueId id, Clock seen, TensorView* to) {
    const ValueRecord& value = data_.values[id];
    bool replayed = value.replay.defined();
    const Tensor& tensor = replayed ? value.replay : value.tensor;
    if (!tensor.defined()) {
      fail(ErrorKind::internal, "[{}] a saved value of node {} is gone", op->name, index_);
    }
    if (!replayed) require_unwritten(data_, tape_.memory().preserver(), index_, operand, id, seen);
    wanted.emplace_back(to, serving_.add(tensor, replayed ? value.replay_read : value.read));
  };
  for_each_bit(node_.saved_operands, [&](int i) {
    const OperandRecord& operand = data_.operands[node_.first_operand + i];
    if (operand.kind == OperandKind::value)
      add_value(i, operand.value, operand.seen, &in_[i]);
    else
      wanted.emplace_back(&in_[i], serving_.add(operand.tensor, operand.read));
  });
  for_each_bit(node_.saved_results, [&](int r) {
    ValueId id = node_.first_value + r;
    add_value(kOwnResult, id, data_.values[id].made, &out_[r]);
  });
  if (!wanted.empty()) serving_.serve(op->effect);
  for (auto [to, at] : wanted) *to = serving_.view(at);
  if (Guard* guard = tape_.guard(); guard && !tape_.memory().preserver().unchecked()) check_saved(guard->seen());
}

void NodeBackward::check_saved(const SeenValues& seen) const {
  for_each_bit(node_.saved_operands, [&](int i) {
    if (data_.operands[node_.first_operand + i].kind == OperandKind::value)
      seen.check_operand(data_, index_, i, in_[i]);
  });
  for_each_bit(node_.saved_results, [&](int r) { seen.check_result(data_, index_, r, out_[r]); });
}

const TensorView& NodeBackward::in(int index) const {
  if (!(node_.saved_operands >> index & 1)) {
    int update = index - node_.inputs;
    fail_not_saved(
        *op, "operand", index, update < 0 ? "in" : "old",
        update < 0 ? name_at(op->inputs, std::min(index, op->input_count() - 1)) : name_at(op->updates, update));
  }
  return in_[index];
}

const TensorView& NodeBackward::out(int index) const {
  if (!(node_.saved_results >> index & 1)) {
    int made = index - static_cast<int>(op->outputs.size());
    fail_not_saved(*op, "result", index, made < 0 ? "out" : "made",
                   made < 0 ? name_at(op->outputs, index) : name_at(op->made, made));
  }
  return out_[index];
}

TensorView NodeBackward::operand_shape(int index) const { return operand_tensor(index).shape_view(); }

TensorView NodeBackward::result_shape(int index) const {
  return data_.values[node_.first_value + index].tensor.shape_view();
}

int NodeBackward::updated_result(int update) const {
  int result = static_cast<int>(op->outputs.size() + op->made.size());
  for (int u = 0; u < update; ++u) {
    if (data_.operands[node_.first_operand + node_.inputs + u].kind == OperandKind::value) ++result;
  }
  return result;
}

const TensorView& NodeBackward::grad_updated(int index) const {
  // A state has no new value that others could depend on.
  bool value = data_.operands[node_.first_operand + node_.inputs + index].kind == OperandKind::value;
  return value ? grad_out_[updated_result(index)] : kNoView;
}

void NodeBackward::pass_through() {
  for (const OpInfo::Pass& pass : node_.info->passes) {
    if (!wants(pass.operand)) continue;
    int result = pass.update ? updated_result(pass.from) : pass.from;
    const Tensor& from = data_.values[node_.first_value + result].cotangent;
    const Tensor& to = operand_tensor(pass.operand);
    if (!from.defined() || from.size() != to.size() || from.dtype() != to.dtype()) continue;
    this->pass(pass.operand, result);
    passed_ |= Mask{1} << pass.operand;
  }
}

const TensorView& NodeBackward::grad(int index) {
  Target& target = targets_[index];
  if (!wants(index))
    fail(ErrorKind::internal, "[{}] its backward makes the gradient of operand {}, which is not wanted", op->name,
         index);
  if (!(begun_.load(std::memory_order_relaxed) >> index & 1))
    begun_.fetch_or(Mask{1} << index, std::memory_order_relaxed);
  return target.view;
}

bool NodeBackward::spoiled() noexcept {
  bool found = false;
  if (tape_.guard() && !op->effect && !has_run_) return found;  // the guard has put everything back
  for_each_bit(begun_.load(std::memory_order_relaxed), [&](int i) {
    const Target& target = targets_[i];
    found |= target.direct || target.taken;
    const OperandRecord& operand = data_.operands[node_.first_operand + i];
    if (target.direct && operand.kind == OperandKind::leaf) operand.leaf->grad_partial = true;
  });
  return found;
}

bool NodeBackward::appears_before(int index) const {
  const OperandRecord& operand = data_.operands[node_.first_operand + index];
  for (int i = 0; i < index; ++i) {
    const OperandRecord& other = data_.operands[node_.first_operand + i];
    if (other.kind == OperandKind::value && other.value == operand.value) return true;
  }
  return false;
}

void NodeBackward::pass(int index, int result) {
  const Tensor& from = data_.values[node_.first_value + result].cotangent;
  const Tensor& like = operand_tensor(index);
  const OperandRecord& operand = data_.operands[node_.first_operand + index];
  if (operand.kind == OperandKind::value && appears_before(index)) {
    make_target(index);
    const Tensor& to = targets_[index].tensor;
    copy_strided(from.view(), to.with_view(from.shape(), from.strides(), to.offset()).view());
    return;
  }
  targets_[index].tensor = from.with_view(like.shape(), contiguous_strides(like.shape()), from.offset());
}

std::int32_t NodeBackward::holders(const Tensor& tensor) const {
  std::int32_t count = tensor.storage().ref_count();
  for (int r = 0; r < node_.results; ++r) {
    const Tensor& cotangent = data_.values[node_.first_value + r].cotangent;
    if (cotangent.defined() && cotangent.storage_ref() == tensor.storage_ref()) --count;
  }
  return count;
}

std::vector<TensorView> NodeBackward::gradients() const {
  std::vector<TensorView> views;
  for (const Target& target : targets_) views.push_back(target.tensor.defined() ? target.tensor.view() : TensorView{});
  return views;
}

void NodeBackward::stage() {
  Allocator& allocator = tape_.memory().allocator();
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    Target& target = targets_[i];
    if (!target.tensor.defined() || target.direct || target.first) continue;
    const OperandRecord& operand = data_.operands[node_.first_operand + i];
    if (operand.kind == OperandKind::value) {
      const Tensor& sum = data_.values[operand.value].cotangent;
      if (sum.defined() && holders(sum) > 1 && holders(target) > 1) {
        target.spare = make_tensor(allocator, nullptr, sum.dtype(), sum.shape(), Category::cotangents);
      }
      continue;
    }
    Leaf& leaf = *operand.leaf;
    if (leaf.grad.defined()) continue;
    leaf.grad_empty = true;
    if (holders(target) == 1 && target.tensor.storage().category() == Category::gradients) continue;
    leaf.grad = make_tensor(allocator, tape_.memory().observer(), operand.tensor.dtype(), operand.tensor.shape(),
                            Category::gradients);
    target.made = true;
  }
}

void NodeBackward::announce() {
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    const Target& target = targets_[i];
    const OperandRecord& operand = data_.operands[node_.first_operand + i];
    if (!target.tensor.defined() || target.direct || target.first || operand.kind != OperandKind::leaf) continue;
    Leaf& leaf = *operand.leaf;
    if (leaf.grad.defined())
      leaf.grad.storage().announce(leaf.grad.region(), Writer{op->name, index_, PreserveBy::as_asked, data_.step});
  }
}

void NodeBackward::commit() noexcept {
  for (int r = 0; r < node_.results; ++r) data_.values[node_.first_value + r].cotangent = Tensor();
  for (int i = 0; i < node_.inputs + node_.updates; ++i) {
    Target& target = targets_[i];
    if (!target.tensor.defined()) continue;
    const OperandRecord& operand = data_.operands[node_.first_operand + i];
    if (operand.kind == OperandKind::value)
      add_to_value(operand.value, target);
    else
      add_to_leaf(*operand.leaf, target);
    target.tensor = Tensor();
    target.made = false;
  }
}

void NodeBackward::add_to_value(ValueId id, Target& target) noexcept {
  Tensor& sum = data_.values[id].cotangent;
  if (target.direct) return;
  if (!sum.defined()) {
    sum = std::move(target.tensor);
  } else if (target.spare.defined()) {
    copy_strided(sum.view(), target.spare.view());
    add_into(target.tensor.view(), target.spare.view());
    sum = std::move(target.spare);
  } else if (sum.storage().ref_count() == 1) {
    add_into(target.tensor.view(), sum.view());
  } else {
    add_into(sum.view(), target.tensor.view());
    sum = std::move(target.tensor);
  }
}

void NodeBackward::add_to_leaf(Leaf& leaf, Target& target) noexcept {
  leaf.grad_partial = true;
  if (!target.direct && !target.first) {
    if (!leaf.grad.defined())
      leaf.grad = std::move(target.tensor);
    else if (leaf.grad_empty)
      copy_strided(target.tensor.view(), leaf.grad.view());
    else
      add_into(target.tensor.view(), leaf.grad.view());
  }
  leaf.grad_empty = false;
}

}  // namespace reprise
