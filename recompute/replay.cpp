#include "recompute/replay.h"

#include <algorithm>
#include <cstdlib>

#include "autograd/array.h"
#include "autograd/execute.h"
#include "autograd/lifetime.h"
#include "core/error.h"
#include "core/recycled.h"
#include "recompute/context.h"

namespace reprise {

namespace {

const TensorView kNoView;  // copied where entries are made anew: see the note in node_builder.cpp

/// The nodes of one replay, one after the other: gathers operands, runs the forward on fresh memory, binds the results.
/// What it needs for one node it uses again for the next, so that a replay takes nothing from the heap for each.
class NodeReplay {
 public:
  explicit NodeReplay(Tape& tape)
      : tape_(tape), data_(tape.data()), preserver_(tape.memory().preserver()), serving_(preserver_) {}

  void run(std::uint32_t index) {
    tape_.stop_here();
    index_ = index;
    if (TapeObserver* observer = tape_.observer()) observer->before_replay(tape_, index_);
    NodeRecord& node = data_.nodes[index_];
    std::uint32_t runs = node.runs;
    try {
      gather();
      plan_updates();
      allocate();
      announce();
      if (!node.op->view) execute(node);
    } catch (...) {
      if (node.runs == runs)
        take_back();
      else  // a kernel that has begun may have written over what it read, of which there is no other copy
        spoiled_ = std::find(in_place_.begin(), in_place_.end(), true) != in_place_.end();
      throw;
    }
    bind();
  }
  /// Whether the node that failed has left other bytes where it found its operands.
  bool spoiled() const { return spoiled_; }

 private:
  const NodeRecord& node() const { return data_.nodes[index_]; }
  const OperandRecord& operand(int i) const { return data_.operands[node().first_operand + i]; }
  bool skips(int i) const {
    return i >= node().inputs && operand(i).kind != OperandKind::value && node().op->outputs_ignore_updates;
  }

  void gather();
  void execute(NodeRecord& node);
  void describe_for_guard(GuardedCall& call);
  void plan_updates();
  Tensor private_copy(const TensorView& from, const Strides& strides);
  int uses_here(ValueId id) const;
  Mask given() const;
  void allocate();
  void announce();
  void take_back() noexcept;
  void bind();
  void bind_result(ValueId id, const Tensor& tensor);
  void release_operands();

  Tape& tape_;
  TapeData& data_;
  Preserver& preserver_;
  std::uint32_t index_ = 0;
  Serving serving_;
  std::vector<std::size_t> served_;  // per operand: its place in `serving_`
  std::vector<TensorView> operands_, results_;
  std::vector<Tensor> made_;     // per result that is no update
  std::vector<Tensor> updated_;  // per update: the private bytes written
  Mask given_ = 0;               // results that are at hand and need not be made
  std::vector<bool> in_place_;   // per update: written where this replay has made the old value
  std::vector<ValueId> owed_;    // values whose bytes are owed on account of this node's writes
  bool spoiled_ = false;
};

void NodeReplay::gather() {
  int count = node().inputs + node().updates;
  served_.resize(static_cast<std::size_t>(count));
  operands_.assign(static_cast<std::size_t>(count), kNoView);
  for (int i = 0; i < count; ++i) {
    const OperandRecord& from = operand(i);
    if (from.kind == OperandKind::absent || skips(i)) continue;
    if (from.kind == OperandKind::value) {
      const ValueRecord& value = data_.values[from.value];
      bool replayed = value.replay.defined();
      const Tensor& tensor = replayed ? value.replay : value.tensor;
      if (!tensor.defined())
        fail(ErrorKind::internal, "[replay] operand {} of node {} ({}) is gone", i, index_, node().op->name);
      if (!replayed) require_unwritten(data_, preserver_, index_, i, from.value, from.seen);
      served_[i] = serving_.add(tensor, replayed ? value.replay_read : value.read);
    } else {
      served_[i] = serving_.add(from.tensor, from.read);
    }
  }
  serving_.serve();
  for (int i = 0; i < count; ++i) {
    if (operand(i).kind != OperandKind::absent && !skips(i)) operands_[i] = serving_.view(served_[i]);
  }
  Guard* guard = tape_.guard();
  if (!guard || preserver_.unchecked()) return;
  for (int i = 0; i < count; ++i) {
    if (operand(i).kind == OperandKind::value) guard->seen().check_operand(data_, index_, i, operands_[i]);
  }
}

void NodeReplay::execute(NodeRecord& node) {
  if (!tape_.guard()) {
    run_forward(tape_.memory(), node, operands_, results_, true, nullptr, given_);
    return;
  }
  GuardedCall call{tape_.guard(), {}, nullptr};
  describe_for_guard(call);
  run_forward(tape_.memory(), node, operands_, results_, true, &call, given_);
}

/// Of an outside read exactly the owed bytes may be read: the others may be of any version.
void NodeReplay::describe_for_guard(GuardedCall& call) {
  for (int i = 0; i < node().inputs + node().updates; ++i) {
    if (!operands_[i].data) continue;
    const OperandRecord& from = operand(i);
    if (i >= node().inputs) {
      const Tensor& tensor = updated_[i - node().inputs];
      call.operands.push_back({i, tensor.storage().raw(), tensor.storage().bytes(), tensor.region()});
      continue;
    }
    bool value = from.kind == OperandKind::value;
    const ValueRecord* record = value ? &data_.values[from.value] : nullptr;
    const Tensor& tensor = !value ? from.tensor : record->replay.defined() ? record->replay : record->tensor;
    Region region = !value && from.read != kNoRead ? preserver_.region(from.read) : tensor.region();
    std::byte* base = operands_[i].data - tensor.offset() * size_of(tensor.dtype());
    call.operands.push_back({i, base, tensor.storage().bytes(), std::move(region)});
  }
}

/// `strides`: those of the recorded value, because views of it were recorded against them. Where the forward wrote into
/// a copy of its own they are not those of `from`.
Tensor NodeReplay::private_copy(const TensorView& from, const Strides& strides) {
  std::int64_t extent = from.size() > 0 ? 1 : 0, before = 0;  // elements before the first, where strides are negative
  for (int i = 0; i < from.shape.size() && extent > 0; ++i) {
    std::int64_t reach = (from.shape[i] - 1) * strides[i];
    extent += std::abs(reach);
    if (reach < 0) before -= reach;
  }
  Tensor copy(
      Storage::create(tape_.memory().allocator(), &preserver_, extent * size_of(from.dtype), Category::activations),
      from.dtype, from.shape, strides, before);
  copy_strided(from, copy.view());
  return copy;
}

void NodeReplay::plan_updates() {
  updated_.resize(node().updates);
  in_place_.assign(node().updates, false);
  int result = static_cast<int>(node().op->outputs.size() + node().op->made.size());
  for (int u = 0; u < node().updates; ++u) {
    int i = node().inputs + u;
    if (skips(i)) continue;
    if (operand(i).kind != OperandKind::value) {  // state: a private copy takes the write
      updated_[u] = private_copy(operands_[i], operands_[i].strides);
    } else {
      const ValueRecord& old = data_.values[operand(i).value];
      const ValueRecord& fresh = data_.values[node().first_value + result++];
      in_place_[u] = old.replay.defined() && old.replay_read == kNoRead && fresh.root == old.root;
      updated_[u] = in_place_[u] ? old.replay : private_copy(operands_[i], fresh.tensor.strides());
    }
    operands_[i] = updated_[u].view();
  }
}

/// The results in the op's `keeps`, if it can do with them and all are at hand.
Mask NodeReplay::given() const {
  if (!node().op->replays_from_keeps) return 0;
  Mask keeps = node().info->keeps;
  bool all = true;
  for_each_bit(keeps, [&](int r) {
    const ValueRecord& value = data_.values[node().first_value + r];
    all &= value.tensor.defined() && value.read == kNoRead;
  });
  return all ? keeps : 0;
}

void NodeReplay::allocate() {
  std::size_t count = node().op->outputs.size() + node().op->made.size();
  made_.resize(count);
  results_.resize(count);
  given_ = given();
  for (std::size_t r = 0; r < count; ++r) {
    const ValueRecord& value = data_.values[node().first_value + r];
    if (node().op->view) {
      const ValueRecord& base = data_.values[operand(0).value];
      bool replayed = base.replay.defined();
      bool overwritten = (replayed ? base.replay_read : base.read) != kNoRead;
      // A view shares memory with what it views, unless that has been overwritten: then with a private copy of what it
      // was.
      Tensor bytes = base.tensor;
      if (overwritten)
        bytes = private_copy(operands_[0], operands_[0].strides);
      else if (replayed)
        bytes = base.replay;
      made_[r] = bytes.with_view(value.tensor.shape(), value.tensor.strides(), bytes.offset() + value.shift);
    } else if (given_ >> r & 1) {
      made_[r] = value.tensor;
    } else {
      made_[r] = make_tensor(tape_.memory().allocator(), &preserver_, value.tensor.dtype(), value.tensor.shape(),
                             Category::activations);
    }
    results_[r] = made_[r].view();
  }
}

/// Bytes of values that this replay has made, that a formula still wants and that the in-place write will change.
void NodeReplay::announce() {
  const Schedule* schedule = tape_.schedule();
  bool chosen = schedule && index_ < schedule->choices.size();
  for (int u = 0; u < node().updates; ++u) {
    if (!in_place_[u]) continue;
    const SegmentInstance& instance = data_.segments[node().segment];
    ValueId root = data_.values[operand(node().inputs + u).value].root;
    for (ValueId at = root; at != kNoValue; at = data_.values[at].next_alias) {
      ValueRecord& value = data_.values[at];
      if (!value.replay.defined() || value.replay_read != kNoRead) continue;
      if (!(value.replay.storage_ref() == updated_[u].storage_ref())) continue;
      if (value.replay_uses <= uses_here(at)) continue;
      grow_room(owed_, 1);
      value.replay_read = preserver_.owe(value.replay.storage(), value.replay.region(), instance.option.state,
                                         {instance.name, node().op->name, "result"});
      owed_.push_back(at);
    }
    PreserveBy by = chosen ? preserve_by(schedule->choices[index_], u) : PreserveBy::as_asked;
    updated_[u].storage().announce(updated_[u].region(), Writer{node().op->name, index_, by, data_.step});
  }
}

/// So that a node which found no memory leaves none behind, and is run the same way when it is tried again.
void NodeReplay::take_back() noexcept {
  for (ValueId at : owed_) {
    preserver_.drop(data_.values[at].replay_read);
    data_.values[at].replay_read = kNoRead;
  }
}

int NodeReplay::uses_here(ValueId id) const {
  int uses = 0;
  for (int i = 0; i < node().inputs + node().updates; ++i) {
    uses += operand(i).kind == OperandKind::value && operand(i).value == id;
  }
  return uses;
}

void NodeReplay::bind_result(ValueId id, const Tensor& tensor) {
  ValueRecord& value = data_.values[id];
  if (value.tensor.defined() || value.replay_uses == 0) return;  // kept, or of no use
  value.replay = tensor;
}

void NodeReplay::bind() {
  ValueId id = node().first_value;
  for (const Tensor& tensor : made_) bind_result(id++, tensor);
  for (int u = 0; u < node().updates; ++u) {
    if (operand(node().inputs + u).kind == OperandKind::value) bind_result(id++, updated_[u]);
  }
  made_.clear();
  updated_.clear();
  serving_.clear();
  owed_.clear();
  release_operands();
}

void NodeReplay::release_operands() {
  for (int i = 0; i < node().inputs + node().updates; ++i) {
    if (operand(i).kind != OperandKind::value) continue;
    ValueRecord& value = data_.values[operand(i).value];
    if (value.replay.defined() && --value.replay_uses == 0) unbind_replay(data_, preserver_, operand(i).value);
  }
}

/// Counts the uses of each value that this replay will make: by later nodes of the replay, and by formulas that the
/// backward under way will reach.
void count_uses(TapeData& data, std::uint32_t segment) {
  const SegmentInstance& instance = data.segments[segment];
  auto use = [&](ValueId v) {
    ValueRecord& value = data.values[v];
    if (value.segment == segment && !value.tensor.defined()) ++value.replay_uses;
  };
  for (std::uint32_t n : instance.needed) {
    const NodeRecord& node = data.nodes[n];
    for (int i = 0; i < node.inputs + node.updates; ++i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (operand.kind == OperandKind::value) use(operand.value);
    }
  }
  for (std::uint32_t n = instance.first_node; n < instance.end_node; ++n) {
    const NodeRecord& node = data.nodes[n];
    if (!node.wanted || node.consumed || !data.backward.reached[n]) continue;
    for_each_bit(node.saved_operands, [&](int i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (operand.kind == OperandKind::value) use(operand.value);
    });
    for_each_bit(node.saved_results, [&](int r) { use(node.first_value + r); });
  }
}

/// Counts the uses of values in restoring a run: by nodes that it replays, and one for each value that it gives back.
void count_run_uses(TapeData& data, const SegmentInstance& instance, std::uint32_t segment) {
  for (ValueId v = instance.first_value; v < instance.end_value; ++v) data.values[v].replay_uses = 0;
  for (std::uint32_t n : instance.run_needed) {
    const NodeRecord& node = data.nodes[n];
    for (int i = 0; i < node.inputs + node.updates; ++i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (operand.kind != OperandKind::value) continue;
      ValueRecord& value = data.values[operand.value];
      if (value.segment == segment && !value.tensor.defined()) ++value.replay_uses;
    }
  }
  for (ValueId v : instance.let_go) ++data.values[v].replay_uses;
}

/// Runs nodes[next] and those after it. Where one fails half-way through writing in place, what it read is spoiled:
/// then nothing stays bound, and the replay has to begin anew.
void run_nodes(Tape& tape, const SegmentInstance& instance, const std::vector<std::uint32_t>& nodes,
               std::uint32_t& next, bool& begun) {
  NodeReplay node(tape);
  try {
    for (; next < nodes.size(); ++next) node.run(nodes[next]);
  } catch (...) {
    if (node.spoiled()) {
      unbind_segment(tape.data(), tape.memory().preserver(), instance);
      next = 0;
      begun = false;
    }
    throw;
  }
}

/// Restores what one segment of a run has let go of.
void restore(Tape& tape, std::uint32_t segment) {
  TapeData& data = tape.data();
  Preserver& preserver = tape.memory().preserver();
  SegmentInstance& instance = data.segments[segment];
  if (instance.let_go.empty()) return;
  require_context_of(tape, segment);
  if (!instance.run_counted) count_run_uses(data, instance, segment);
  instance.run_counted = true;
  run_nodes(tape, instance, instance.run_needed, instance.run_next, instance.run_counted);
  for (ValueId v : instance.let_go) {
    ValueRecord& value = data.values[v];
    value.let_go = false;
    value.restored = true;
    value.tensor = value.replay;
  }
  unbind_segment(data, preserver, instance);
  for (std::uint32_t n : instance.run_needed) {
    bool again = std::binary_search(instance.needed.begin(), instance.needed.end(), n);
    if (!again) drop_replay(data, preserver, data.nodes[n]);
  }
  instance.let_go.clear();
  instance.run_needed.clear();
  instance.run_counted = false;
  instance.run_next = 0;
}

}  // namespace

void TraceReplayer::restore_run(Tape& tape, std::uint32_t segment) {
  const std::vector<SegmentInstance>& segments = tape.data().segments;
  std::uint32_t run = segments[segment].option.run, first = segment;
  if (run == 0) return;
  while (first > 0 && segments[first - 1].option.run == run) --first;
  for (std::uint32_t s = first; s < segments.size() && segments[s].option.run == run; ++s) restore(tape, s);
}

void TraceReplayer::note_context(Tape& tape, std::uint32_t segment) { note_context_of(tape, segment); }

void TraceReplayer::replay(Tape& tape, std::uint32_t segment) {
  TapeData& data = tape.data();
  SegmentInstance& instance = data.segments[segment];
  if (!instance.needed.empty()) require_context_of(tape, segment);
  if (!instance.replaying) {
    if (replays_.size() < data.segments.size()) replays_.resize(data.segments.size(), 0);
    for (ValueId v = instance.first_value; v < instance.end_value; ++v) data.values[v].replay_uses = 0;
    count_uses(data, segment);
    instance.replaying = true;
    instance.replay_next = 0;
    if (!instance.needed.empty()) ++replays_[segment];
  }
  run_nodes(tape, instance, instance.needed, instance.replay_next, instance.replaying);
}

}  // namespace reprise
