#include "recompute/planning/step_watch.h"

#include <algorithm>
#include <utility>

#include "autograd/lifetime.h"
#include "core/error.h"

namespace reprise {

StepWatch::StepWatch(Tape& tape) : tape_(tape) {
  tape.set_node_hook([this](std::uint32_t node) { after_node(node); });
  tape.set_observer(this);
}

StepWatch::~StepWatch() {
  tape_.set_node_hook(nullptr);
  tape_.set_observer(nullptr);
}

// ---- rows

/// A node's forward has run: what was live since the last event counts for its row. Units are numbered as they come.
void StepWatch::after_node(std::uint32_t node) {
  if (!counts()) return;
  const TapeData& data = tape_.data();
  if (node > 0 && data.nodes[node].segment != data.nodes[node - 1].segment) ++unit_;
  row_ = rows_.add_node(unit_);
  count_level();
  note_lifetimes(node);
}

void StepWatch::begin_backward(const Tape& tape) {
  if (!counts()) return;
  count_level();
  inspect();
  int first = rows_.count();
  rows_.add_backward(units_, tape.data().backward.reached);
  if (rows_.count() > first) row_ = first;  // else it reaches nothing
}

void StepWatch::end_backward(const Tape&) {
  if (counts()) count_level();
}

void StepWatch::before_replay(const Tape& tape, std::uint32_t node) {
  if (!counts()) return;
  enter(rows_.now(units_.of_replay(tape.data(), node)));
  if (replays_.size() <= node) replays_.resize(node + 1, 0);
  ++replays_[node];
}

void StepWatch::before_backward(const Tape&, std::uint32_t node) {
  if (counts()) enter(rows_.now(units_.of_node(node)));
}

void StepWatch::enter(int row) {
  count_level();
  row_ = row;
}

void StepWatch::count_level() {
  if (row_ < 0) return;  // nothing has been recorded
  Meter& meter = tape_.memory().meter();
  levels_.resize(static_cast<std::size_t>(rows_.count()), 0);
  std::int64_t& level = levels_[static_cast<std::size_t>(row_)];
  level = std::max(level, meter.peak());
  meter.reset_peak();
}

// ---- who owes what

/// Until which node of the forward each value is there for the forward's own sake: as an operand, or held by the host.
void StepWatch::note_lifetimes(std::uint32_t index) {
  const TapeData& data = tape_.data();
  last_node_.resize(data.values.size(), 0);
  const NodeRecord& node = data.nodes[index];
  for (int i = 0; i < node.inputs + node.updates; ++i) {
    const OperandRecord& operand = data.operands[node.first_operand + i];
    if (operand.kind == OperandKind::value) last_node_[data.values[operand.value].root] = index;
  }
  for (int r = 0; r < node.results; ++r) last_node_[data.values[node.first_value + r].root] = index;
  for (const Handle* handle = data.live_handles; handle; handle = handle->next)
    last_node_[data.values[handle->value].root] = index;
}

void StepWatch::inspect() {
  const TapeData& data = tape_.data();
  if (nodes_ != data.nodes.size()) units_ = Units(data);
  nodes_ = static_cast<std::uint32_t>(data.nodes.size());
  for (std::uint32_t n = 0; n < data.nodes.size(); ++n) inspect_node(n);
  for (std::uint32_t s = 0; s < data.segments.size(); ++s) {
    for (ValueId v : data.segments[s].kept) add_value(v, units_.of_segment(s));
    if (s < needed_.size()) continue;
    needed_.push_back(data.segments[s].needed);
    restored_.push_back(data.segments[s].run_needed);
  }
}

void StepWatch::inspect_node(std::uint32_t index) {
  const TapeData& data = tape_.data();
  const NodeRecord& node = data.nodes[index];
  std::uint32_t unit = units_.of_node(index);
  for_each_bit(node.owed_operands | node.replay_operands, [&](int i) {
    const OperandRecord& operand = data.operands[node.first_operand + i];
    if (operand.kind == OperandKind::value)
      add_value(operand.value, unit);
    else if (operand.read != kNoRead)
      add_read({index, i, unit, operand.tensor.storage().serial()});
  });
  for_each_bit(node.owed_results, [&](int r) { add_value(node.first_value + r, unit); });
}

void StepWatch::add_value(ValueId v, std::uint32_t unit) {
  const TapeData& data = tape_.data();
  const ValueRecord& record = data.values[v];
  if (record.let_go || record.restored) return;  // its run gives it back for a while
  if (record.read != kNoRead) {                  // its old bytes are owed through the preserver
    int result = static_cast<int>(v - data.nodes[record.node].first_value);
    return add_read({record.node, -1 - result, unit, record.tensor.storage().serial()});
  }
  OwedValue& entry = values_[record.root];
  entry.value.value = record.root;
  entry.value.charged = round_up_64(record.tensor.storage().bytes());
  entry.value.node = data.values[record.root].node;
  entry.users[unit] = {rows_.backwards(), nodes_};
}

void StepWatch::add_read(const WalkedRead& read) { reads_[read] = {rows_.backwards(), nodes_}; }

int StepWatch::row_of(std::uint32_t unit, const Owing& owing) const {
  return owing.until == rows_.backwards() ? rows_.count() - 1 : rows_.in_backward(unit, owing.until);
}

void StepWatch::end_step() {
  if (!counts()) return;
  if (rows_.count() == 0) fail(ErrorKind::user, "[plan] expected a step that records nodes, got one without any");
  count_level();
  inspect();
}

Walk StepWatch::take() {
  Walk walk;
  for (auto& [root, entry] : values_) {
    entry.value.forward_end = rows_.of_node(last_node_[root]);
    for (const auto& [unit, owing] : entry.users) entry.value.users.push_back({unit, row_of(unit, owing)});
    walk.values.push_back(std::move(entry.value));
  }
  for (const auto& [read, owing] : reads_) {
    WalkedRead& walked = walk.reads.emplace_back(read);
    walked.last_row = row_of(read.unit, owing);
    walked.nodes = owing.nodes;
  }
  walk.replays = std::move(replays_);
  walk.replays.resize(nodes_, 0);
  walk.needed = std::move(needed_);
  walk.restored = std::move(restored_);
  walk.row_peaks = std::move(levels_);
  walk.peak = *std::max_element(walk.row_peaks.begin(), walk.row_peaks.end());
  walk.rows = std::move(rows_);
  return walk;
}

}  // namespace reprise
