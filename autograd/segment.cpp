#include "autograd/segment.h"

#include <algorithm>

#include "autograd/lifetime.h"

namespace reprise {

namespace {

/// Nodes of a closing segment that lie on no path to anything still reachable owe nothing.
void prune(TapeData& data, Preserver& preserver, const SegmentInstance& instance) {
  std::vector<std::uint8_t> live(instance.end_value - instance.first_value, 0);
  for (std::uint32_t n = instance.end_node; n-- > instance.first_node;) {
    NodeRecord& node = data.nodes[n];
    bool alive = false;
    for (int r = 0; r < node.results; ++r) {
      ValueId v = node.first_value + r;
      alive |= data.values[v].handle || live[v - instance.first_value];
    }
    if (!alive && node.wanted) {
      drop_formula(data, preserver, node);
      node.wanted = node.saved_operands = node.saved_results = 0;
    }
    for_each_bit(node.wanted, [&](int i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (operand.kind == OperandKind::value && operand.value >= instance.first_value) {
        live[operand.value - instance.first_value] = 1;
      }
    });
  }
}

struct NeededSet {
  std::vector<std::uint8_t> nodes;  // per node of the segment
  std::vector<std::uint8_t> run;    // the same for restoring its run; empty if that needs none
  std::vector<ValueId> kept;        // values of the segment that are at hand and stay so
};

/// Adds what restoring the run needs: the nodes behind the segment's outputs.
void find_run_needed(const TapeData& data, std::uint32_t segment, NeededSet& set) {
  const SegmentInstance& instance = data.segments[segment];
  set.run.resize(instance.end_node - instance.first_node, 0);
  for (ValueId v : instance.outputs) {
    if (data.values[v].segment == segment) set.run[data.values[v].node - instance.first_node] = 1;
  }
  for (std::uint32_t n = instance.end_node; n-- > instance.first_node;) {
    if (!set.run[n - instance.first_node]) continue;
    const NodeRecord& node = data.nodes[n];
    for (int i = 0; i < node.inputs + node.updates; ++i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (operand.kind != OperandKind::value) continue;
      const ValueRecord& value = data.values[operand.value];
      if (value.segment != segment) continue;
      bool output =
          std::find(instance.outputs.begin(), instance.outputs.end(), operand.value) != instance.outputs.end();
      if (value.tensor.defined() && !output)
        set.kept.push_back(operand.value);
      else
        set.run[value.node - instance.first_node] = 1;
    }
  }
}

NeededSet find_needed(const TapeData& data, std::uint32_t segment) {
  const SegmentInstance& instance = data.segments[segment];
  NeededSet set;
  set.nodes.resize(instance.end_node - instance.first_node, 0);
  auto want = [&](ValueId v) {
    const ValueRecord& value = data.values[v];
    if (value.segment != segment) return;
    if (value.tensor.defined())
      set.kept.push_back(v);
    else
      set.nodes[value.node - instance.first_node] = 1;
  };
  auto want_operand = [&](const NodeRecord& node, int i) {
    const OperandRecord& operand = data.operands[node.first_operand + i];
    if (operand.kind == OperandKind::value) want(operand.value);
  };
  for (std::uint32_t n = instance.end_node; n-- > instance.first_node;) {
    const NodeRecord& node = data.nodes[n];
    if (node.wanted && !node.consumed) {
      for_each_bit(node.saved_operands, [&](int i) { want_operand(node, i); });
      for_each_bit(node.saved_results, [&](int r) { want(node.first_value + r); });
    }
    if (set.nodes[n - instance.first_node]) {
      for (int i = 0; i < node.inputs + node.updates; ++i) want_operand(node, i);
    }
  }
  if (instance.option.run != 0 && !instance.option.run_ends && !instance.closed) find_run_needed(data, segment, set);
  std::sort(set.kept.begin(), set.kept.end());
  set.kept.erase(std::unique(set.kept.begin(), set.kept.end()), set.kept.end());
  return set;
}

}  // namespace

void update_needed(Tape& tape, std::uint32_t segment, bool closing) {
  TapeData& data = tape.data();
  Preserver& preserver = tape.memory().preserver();
  if (closing) prune(data, preserver, data.segments[segment]);
  if (!data.segments[segment].replayable()) return;
  NeededSet set = find_needed(data, segment);
  SegmentInstance& instance = data.segments[segment];
  instance.needed.reserve(set.nodes.size());
  instance.run_needed.reserve(set.run.size());
  // From here on nothing fails.
  std::vector<ValueId> before = std::move(instance.kept);
  for (ValueId v : set.kept) owe_value(data, v);
  for (ValueId v : before) unowe_value(data, preserver, v);
  instance.kept = std::move(set.kept);
  instance.needed.clear();
  for (std::uint32_t n = instance.first_node; n < instance.end_node; ++n) {
    bool restores = !set.run.empty() && set.run[n - instance.first_node];
    if (restores) instance.run_needed.push_back(n);
    if (set.nodes[n - instance.first_node])
      instance.needed.push_back(n);
    else if (!restores)
      drop_replay(data, preserver, data.nodes[n]);
  }
}

void prepare_run(Tape& tape, std::uint32_t segment) {
  TapeData& data = tape.data();
  std::uint32_t run = data.segments[segment].option.run;
  for (std::uint32_t s = segment; s-- > 0 && data.segments[s].option.run == run;)
    data.segments[s].let_go.reserve(data.segments[s].outputs.size());
}

void close_run(Tape& tape, std::uint32_t segment) noexcept {
  TapeData& data = tape.data();
  std::uint32_t run = data.segments[segment].option.run;
  for (std::uint32_t s = segment; s-- > 0 && data.segments[s].option.run == run;) {
    SegmentInstance& instance = data.segments[s];
    for (ValueId v : instance.outputs) {
      ValueRecord& value = data.values[v];
      bool decision = data.nodes[value.node].info->decisions >> (v - data.nodes[value.node].first_value) & 1;
      // A handle means that the program may still use it; a read, that its bytes are kept elsewhere already.
      if (value.segment != s || value.handle || value.owed == 0 || value.read != kNoRead || decision || value.let_go)
        continue;
      value.let_go = true;
      value.tensor.drop_storage();
      instance.let_go.push_back(v);
    }
    if (instance.let_go.empty()) instance.run_needed.clear();
  }
}

void cut_run(TapeData& data) {
  if (data.segments.empty()) return;
  const SegmentOption last = data.segments.back().option;
  if (last.run == 0 || (last.run_ends && data.segments.back().closed)) return;
  for (std::size_t s = data.segments.size(); s-- > 0 && data.segments[s].option.run == last.run;) {
    data.segments[s].option.run = 0;
    data.segments[s].run_needed.clear();
  }
}

}  // namespace reprise
