#include "recompute/planning/kept_sets.h"

#include <algorithm>

#include "autograd/lifetime.h"

namespace reprise {

namespace {

// Below this part of the segment's whole replay hardly anything is left to save.
constexpr std::int64_t kWorthKeeping = 50;

/// Which nodes a replay of one segment runs, given what is kept besides what is kept anyway.
class ReplayGraph {
 public:
  ReplayGraph(const TapeData& data, std::uint32_t segment, const Profile& profile)
      : data_(data), segment_(segment), instance_(data.segments[segment]), profile_(profile) {
    for (std::uint32_t n = instance_.first_node; n < instance_.end_node; ++n) {
      const NodeRecord& node = data.nodes[n];
      if (!node.wanted) continue;
      for_each_bit(node.saved_operands, [&](int i) { want_operand(wanted_, node, i); });
      for_each_bit(node.saved_results, [&](int r) { wanted_.push_back(node.first_value + r); });
    }
  }

  /// Replay time when `kept` stay.
  std::int64_t time(const std::vector<ValueId>& kept) const {
    std::vector<std::uint8_t> needed(instance_.end_node - instance_.first_node, 0);
    std::vector<ValueId> open = wanted_;
    std::int64_t ns = 0;
    while (!open.empty()) {
      ValueId v = open.back();
      open.pop_back();
      const ValueRecord& value = data_.values[v];
      if (value.segment != segment_ || value.tensor.defined()) continue;
      if (std::find(kept.begin(), kept.end(), value.root) != kept.end()) continue;
      std::uint8_t& seen = needed[value.node - instance_.first_node];
      if (seen) continue;
      seen = 1;
      ns += profile_.replay_of(value.node);
      const NodeRecord& node = data_.nodes[value.node];
      for (int i = 0; i < node.inputs + node.updates; ++i) want_operand(open, node, i);
    }
    return ns;
  }

  /// Values that could be kept: outputs of needed nodes with bytes of their own, never overwritten.
  std::vector<ValueId> candidates() const {
    std::vector<ValueId> values;
    for (std::uint32_t n : instance_.needed) {
      const NodeRecord& node = data_.nodes[n];
      if (node.op->view) continue;
      for (ValueId v = node.first_value; v < node.first_value + node.results; ++v) {
        const ValueRecord& value = data_.values[v];
        if (value.root == v && !value.overwritten && !value.tensor.defined()) values.push_back(v);
      }
    }
    return values;
  }

 private:
  void want_operand(std::vector<ValueId>& into, const NodeRecord& node, int i) const {
    const OperandRecord& operand = data_.operands[node.first_operand + i];
    if (operand.kind == OperandKind::value) into.push_back(operand.value);
  }

  const TapeData& data_;
  std::uint32_t segment_;
  const SegmentInstance& instance_;
  const Profile& profile_;
  std::vector<ValueId> wanted_;
};

void add_kept_sets(const TapeData& data, std::uint32_t segment, const Profile& profile, int most,
                   std::vector<SegmentChoice>& options) {
  ReplayGraph graph(data, segment, profile);
  std::vector<ValueId> left = graph.candidates(), kept;
  std::int64_t all = graph.time(kept), now = all;
  SegmentChoice choice{"", ValueOption::replay, {}};
  for (int set = 0; set < most && now > all / kWorthKeeping; ++set) {
    double best = 0;
    std::size_t best_at = left.size();
    std::int64_t best_time = now;
    for (std::size_t i = 0; i < left.size(); ++i) {
      kept.push_back(left[i]);
      std::int64_t time = graph.time(kept);
      kept.pop_back();
      std::int64_t charged = std::max<std::int64_t>(round_up_64(1), data.values[left[i]].tensor.bytes());
      double rate = static_cast<double>(now - time) / static_cast<double>(charged);
      if (rate > best) best = rate, best_at = i, best_time = time;
    }
    if (best_at == left.size()) break;
    ValueId v = left[best_at];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best_at));
    kept.push_back(v);
    const ValueRecord& value = data.values[v];
    choice.kept.emplace_back(value.node, static_cast<int>(v - data.nodes[value.node].first_value));
    choice.name = fmt::format("replay, {} kept", choice.kept.size());
    now = best_time;
    options.push_back(choice);
  }
}

}  // namespace

PlanSpace space_with_kept_values(Walker& walker, const Profile& profile, int most) {
  PlanSpace space = simple_space(walker);
  Assignment replayed;
  for (std::size_t s = 0; s < space.size(); ++s)
    replayed.segments.push_back({ValueOption::replay, StateOption::region});
  walker.look(replayed, [&](Tape& tape) {
    for (std::uint32_t s = 0; s < space.size(); ++s) add_kept_sets(tape.data(), s, profile, most, space[s]);
  });
  return space;
}

}  // namespace reprise
