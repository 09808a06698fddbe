#include "recompute/op_check_run.h"

#include <algorithm>
#include <cstring>

#include "autograd/segment.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/reduce.h"
#include "recompute/replay.h"

namespace reprise::check {

namespace {

Bytes bytes_of(const Tensor& tensor) {
  std::span<const std::byte> bytes = tensor.host_read_bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void CaseRun::choose_leaves() {
  int next = 0;
  for (const auto& item : case_.items()) {
    const LeafRef& leaf = item.operand.leaf;
    if (leaf) leaf->requires_grad = options_.only_leaf < 0 || next++ == options_.only_leaf;
  }
}

Value CaseRun::loss(Tape& tape, std::vector<Value>* outputs) {
  next_weight_ = 0;
  Value sum_so_far;
  if (options_.probe_states) probe_all(tape, sum_so_far);
  CheckOutputs given = apply_(tape);
  for (Value& value : given.values) meet(tape, Arg(value), sum_so_far);
  if (options_.probe_states) probe_all(tape, sum_so_far);
  if (outputs) *outputs = std::move(given.values);
  return sum_so_far;
}

Outcome CaseRun::run() {
  Outcome outcome;
  choose_leaves();
  TraceReplayer replayer;
  std::unique_ptr<SegmentPolicy> policy = options_.method ? make_policy(*options_.method) : nullptr;
  Tape tape(memory_, {.default_dtype = case_.dtype(), .guard = options_.guard});
  tape.set_policy(policy.get());
  tape.set_replayer(&replayer);
  for (const auto& item : case_.items()) tape.watch(item.operand.tensor.storage_ref());
  for (const auto& stream : case_.streams()) tape.watch(*stream);
  case_.use_values(options_.as_values);
  Value total;
  if (options_.method) {
    total = segment(tape, "checked", [&] { return loss(tape, nullptr); });
  } else {
    std::vector<Value> outputs;
    if (options_.twice) {
      Value first = loss(tape, nullptr);
      total = add(tape, first, loss(tape, &outputs));
    } else {
      total = loss(tape, &outputs);
    }
    note_outputs(outputs, outcome);
  }
  note_states(outcome);
  note_nodes(tape, outcome);
  if (options_.mutate) mutate();
  if (options_.backward && total.defined() && total.requires_grad()) backward(tape, total, outcome);
  return outcome;
}

/// sum += sum(value * weight). A weight is a leaf, so its gradient is the value's bytes.
void CaseRun::meet(Tape& tape, Arg value, Value& sum_so_far) {
  if (element_count(value.shape()) == 0) return;
  if (value.dtype() != case_.dtype()) value = Arg(cast(tape, value, case_.dtype()));
  Shape shape = value.shape();
  Value term = sum(tape, mul(tape, std::move(value), Arg(weight(shape))));
  sum_so_far = sum_so_far.defined() ? add(tape, sum_so_far, term) : term;
}

void CaseRun::probe_all(Tape& tape, Value& sum_so_far) {
  for (const auto& item : case_.items()) {
    if (item.is_state) meet(tape, Arg(item.operand.tensor), sum_so_far);
  }
}

LeafRef CaseRun::weight(const Shape& shape) {
  if (next_weight_ == weights_.size()) {
    Tensor tensor = make_tensor(memory_.allocator(), memory_.observer(), case_.dtype(), shape, Category::parameters);
    std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = weight_element(next_weight_, i);
    }
    tensor.assign_doubles(values);
    weights_.push_back(Leaf::create(fmt::format("output{}", next_weight_), tensor));
  }
  return weights_[next_weight_++];
}

void CaseRun::note_outputs(const std::vector<Value>& outputs, Outcome& outcome) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor tensor = outputs[i].tensor();
    outcome.numbers.push_back(tensor.to_doubles());
    Bytes packed(outcome.numbers.back().size() * sizeof(double));
    if (!packed.empty()) std::memcpy(packed.data(), outcome.numbers.back().data(), packed.size());
    outcome.outputs.emplace_back(fmt::format("output {}", i), std::move(packed));
  }
}

void CaseRun::note_states(Outcome& outcome) {
  for (const auto& item : case_.items()) {
    outcome.states.emplace_back(item.name, bytes_of(item.operand.tensor));
    if (item.is_state) outcome.numbers.push_back(item.operand.tensor.to_doubles());
  }
}

void CaseRun::note_nodes(const Tape& tape, Outcome& outcome) {
  for (const NodeRecord& node : tape.data().nodes) {
    if (row_.op != node.op->name) continue;
    outcome.applied = true;
    int inputs = node.op->input_count();
    for (int i = 0; i < node.inputs + node.updates; ++i) {
      int declared = i >= node.inputs ? inputs + i - node.inputs : std::min(i, inputs - 1);
      outcome.wanted |= (node.wanted >> i & 1) << declared;
    }
  }
}

/// Every operand gets other numbers; integers the same ones in another order, so that they stay valid indices.
void CaseRun::mutate() {
  for (const auto& item : case_.items()) {
    std::vector<double> values = item.operand.tensor.to_doubles();
    std::reverse(values.begin(), values.end());
    if (is_floating(item.operand.tensor.dtype())) {
      for (double& value : values) value = value * 0.75 + 0.125;
    }
    item.operand.tensor.assign_doubles(values, "mutation");
  }
  for (const auto& stream : case_.streams()) stream->position += 17;
}

void CaseRun::backward(Tape& tape, const Value& total, Outcome& outcome) {
  std::vector<Bytes> before;
  std::vector<std::uint64_t> positions;
  for (const auto& item : case_.items()) before.push_back(bytes_of(item.operand.tensor));
  for (const auto& stream : case_.streams()) positions.push_back(stream->position);
  tape.backward(total);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (bytes_of(case_.items()[i].operand.tensor) != before[i]) outcome.disturbed = case_.items()[i].name;
  }
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (case_.streams()[i]->position != positions[i]) outcome.disturbed = case_.streams()[i]->name;
  }
  auto note = [&](const LeafRef& leaf) {
    bool empty = leaf->grad_empty || !leaf->grad.defined();
    outcome.gradients.emplace_back(leaf->name, empty ? Bytes() : bytes_of(leaf->grad));
  };
  for (const auto& item : case_.items()) {
    if (item.operand.leaf) note(item.operand.leaf);
  }
  for (const LeafRef& leaf : weights_) note(leaf);
}

}  // namespace reprise::check
