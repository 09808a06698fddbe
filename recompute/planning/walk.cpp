#include "recompute/planning/walk.h"

#include <algorithm>
#include <map>

#include "autograd/lifetime.h"

namespace reprise {

namespace {

/// Follows the meter from row to row.
class RowMeter final : public TapeObserver {
 public:
  explicit RowMeter(Meter& meter) : meter_(meter) {}

  /// A node's forward has run: what was live since the last one counts for its unit. Units are numbered as they come.
  void forward_node(const TapeData& data, std::uint32_t node) {
    if (node == 0) forward_.clear();  // the second pass of a schedule in the making
    std::uint32_t segment = data.nodes[node].segment;
    if (node == 0 || segment != segment_) forward_.push_back(0);
    segment_ = segment;
    forward_.back() = std::max(forward_.back(), take());
  }
  void begin_backward(Units units) {
    units_ = std::move(units);
    rows_.assign(static_cast<std::size_t>(units_.row_count()), 0);
    for (std::size_t u = 0; u < units_.size(); ++u) rows_[u] = forward_[u];
    row_ = units_.backward_row(static_cast<std::uint32_t>(units_.size() - 1));
  }
  void before_replay(const Tape& tape, std::uint32_t node) override { enter(units_.of_replay(tape.data(), node)); }
  void before_backward(const Tape&, std::uint32_t node) override { enter(units_.of_node(node)); }
  std::vector<std::int64_t> finish() {
    count();
    return std::move(rows_);
  }

 private:
  std::int64_t take() {
    std::int64_t peak = meter_.peak();
    meter_.reset_peak();
    return peak;
  }
  void count() { rows_[row_] = std::max(rows_[row_], take()); }
  void enter(std::uint32_t unit) {
    count();
    row_ = units_.backward_row(unit);
  }

  Meter& meter_;
  Units units_;
  std::uint32_t segment_ = kNone;
  std::vector<std::int64_t> forward_, rows_;
  int row_ = 0;
};

/// Until which node of the forward each value is there for the forward's own sake: as an operand, or held by the host.
class Lifetimes {
 public:
  void after(const TapeData& data, std::uint32_t index) {
    if (index == 0) last_.clear();
    last_.resize(data.values.size(), 0);
    const NodeRecord& node = data.nodes[index];
    for (int i = 0; i < node.inputs + node.updates; ++i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (operand.kind == OperandKind::value) last_[data.values[operand.value].root] = index;
    }
    for (int r = 0; r < node.results; ++r) last_[data.values[node.first_value + r].root] = index;
    for (const Handle* handle = data.live_handles; handle; handle = handle->next)
      last_[data.values[handle->value].root] = index;
  }
  std::uint32_t last_node(ValueId root) const { return last_[root]; }

 private:
  std::vector<std::uint32_t> last_;
};

/// Reads from a tape between forward and backward who keeps and owes what.
class Inspector {
 public:
  Inspector(const TapeData& data, const Units& units, const Lifetimes& lifetimes)
      : data_(data), units_(units), lifetimes_(lifetimes) {
    for (std::uint32_t n = 0; n < data.nodes.size(); ++n) inspect_node(n);
    for (std::uint32_t s = 0; s < data.segments.size(); ++s) {
      for (ValueId v : data.segments[s].kept) add_value(v, units.of_segment(s));
    }
  }

  void take(Walk& walk) {
    for (auto& [root, value] : values_) {
      std::sort(value.users.begin(), value.users.end());
      value.users.erase(std::unique(value.users.begin(), value.users.end()), value.users.end());
      walk.values.push_back(std::move(value));
    }
    std::sort(reads_.begin(), reads_.end());
    reads_.erase(std::unique(reads_.begin(), reads_.end()), reads_.end());
    walk.reads = std::move(reads_);
    for (const SegmentInstance& instance : data_.segments) {
      walk.needed.push_back(instance.needed);
      walk.restored.push_back(instance.run_needed);
    }
  }

 private:
  void inspect_node(std::uint32_t index) {
    const NodeRecord& node = data_.nodes[index];
    std::uint32_t unit = units_.of_node(index);
    for_each_bit(node.owed_operands | node.replay_operands, [&](int i) {
      const OperandRecord& operand = data_.operands[node.first_operand + i];
      if (operand.kind == OperandKind::value)
        add_value(operand.value, unit);
      else if (operand.read != kNoRead)
        reads_.push_back({index, i, unit, operand.tensor.storage().serial()});
    });
    for_each_bit(node.owed_results, [&](int r) { add_value(node.first_value + r, unit); });
  }

  void add_value(ValueId v, std::uint32_t unit) {
    const ValueRecord& record = data_.values[v];
    if (record.let_go) return;     // its run will restore it
    if (record.read != kNoRead) {  // its old bytes are owed through the preserver
      int result = static_cast<int>(v - data_.nodes[record.node].first_value);
      reads_.push_back({record.node, -1 - result, unit, record.tensor.storage().serial()});
      return;
    }
    WalkedValue& value = values_[record.root];
    value.value = record.root;
    value.charged = round_up_64(record.tensor.storage().bytes());
    value.node = data_.values[record.root].node;
    value.forward_end = units_.of_node(lifetimes_.last_node(record.root));
    value.users.push_back(unit);
  }

  const TapeData& data_;
  const Units& units_;
  const Lifetimes& lifetimes_;
  std::map<ValueId, WalkedValue> values_;
  std::vector<WalkedRead> reads_;
};

}  // namespace

Walker::Walker(Tape& tape, std::function<Value()> forward, HostStates states)
    : tape_(tape), forward_(std::move(forward)), states_(std::move(states)) {
  tape_.clear();
  tape_.set_policy(&policy_);
  base_ = tape_.memory().meter().live();
}

Schedule Walker::schedule(const Assignment& assignment) {
  policy_.assign(&assignment);
  Schedule schedule = make_schedule(tape_, forward_, assignment.choices);
  policy_.assign(nullptr);
  return schedule;
}

/// All that an assignment says, as words.
Walker::Key Walker::key_of(const Assignment& assignment) {
  Key key{static_cast<std::uint64_t>(assignment.fallback.values), static_cast<std::uint64_t>(assignment.fallback.state),
          assignment.segments.size()};
  for (const SegmentOption& option : assignment.segments) {
    key.insert(key.end(), {static_cast<std::uint64_t>(option.values), static_cast<std::uint64_t>(option.state),
                           option.run, option.run_ends});
  }
  for (const NodeChoice& choice : assignment.choices)
    key.insert(key.end(), {choice.kept_results, choice.whole_updates, choice.region_updates});
  return key;
}

const Walk& Walker::walk(const Assignment& assignment) {
  Key key = key_of(assignment);
  auto at = walks_.find(key);
  if (at == walks_.end()) at = walks_.emplace(std::move(key), walk_once(assignment)).first;
  return at->second;
}

const Walk& Walker::walk_all(const Assignment& assignment) {
  if (states_.count == 1) return walk(assignment);
  Key key = key_of(assignment);
  auto at = walks_of_all_.find(key);
  if (at != walks_of_all_.end()) return at->second;
  Walk walk = this->walk(assignment);
  std::size_t highest = 0;
  for (std::size_t state = 1; state < states_.count; ++state) {
    states_.begin(state);
    std::int64_t peak = schedule(assignment).peak.total_peak;
    if (peak > walk.peak) walk.peak = peak, highest = state;
  }
  if (highest > 0) {
    states_.begin(highest);
    Walk other = walk_once(assignment);
    for (std::size_t row = 0; row < walk.row_peaks.size(); ++row)
      walk.row_peaks[row] = std::max(walk.row_peaks[row], other.row_peaks[row]);
  }
  states_.begin(0);
  return walks_of_all_.emplace(std::move(key), std::move(walk)).first->second;
}

Walk Walker::walk_once(const Assignment& assignment) {
  Walk walk;
  RowMeter rows(tape_.memory().meter());
  Lifetimes lifetimes;
  tape_.set_node_hook([&](std::uint32_t node) {
    rows.forward_node(tape_.data(), node);
    lifetimes.after(tape_.data(), node);
  });
  tape_.set_observer(&rows);
  policy_.assign(&assignment);
  Schedule schedule = make_schedule(tape_, forward_, assignment.choices, [&] {
    Units units(tape_.data());
    Inspector(tape_.data(), units, lifetimes).take(walk);
    rows.begin_backward(std::move(units));
  });
  policy_.assign(nullptr);
  tape_.set_node_hook(nullptr);
  tape_.set_observer(nullptr);
  walk.row_peaks = rows.finish();
  walk.exact = schedule.exact;
  walk.peak = *std::max_element(walk.row_peaks.begin(), walk.row_peaks.end());
  return walk;
}

void Walker::look(const Assignment& assignment, const std::function<void(Tape&)>& look) {
  policy_.assign(&assignment);
  Schedule draft;
  draft.choices = assignment.choices;
  draft.draft = true;
  draft.exact = false;
  tape_.follow(&draft);
  {
    Value root = forward_();
    look(tape_);
  }
  tape_.clear();
  policy_.assign(nullptr);
}

}  // namespace reprise
