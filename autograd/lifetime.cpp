#include "autograd/lifetime.h"

#include "core/error.h"
#include "memory/foreign_write.h"

namespace reprise {

void release_if_unneeded(TapeData& data, Preserver& preserver, ValueId value) noexcept {
  ValueRecord& record = data.values[value];
  if (record.owed > 0 || record.handle) return;
  if (record.read != kNoRead) {
    preserver.drop(record.read);
    record.read = kNoRead;
  }
  record.tensor.drop_storage();
}

void unowe_value(TapeData& data, Preserver& preserver, ValueId value) noexcept {
  if (--data.values[value].owed == 0) release_if_unneeded(data, preserver, value);
}

namespace {

void drop_operand(TapeData& data, Preserver& preserver, OperandRecord& operand, bool still_owed) noexcept {
  if (operand.kind == OperandKind::value) {
    unowe_value(data, preserver, operand.value);
  } else if (!still_owed && operand.read != kNoRead) {
    preserver.drop(operand.read);
    operand.read = kNoRead;
  }
}

}  // namespace

void drop_formula(TapeData& data, Preserver& preserver, NodeRecord& node) noexcept {
  for_each_bit(node.owed_operands, [&](int i) {
    drop_operand(data, preserver, data.operands[node.first_operand + i], node.replay_operands >> i & 1);
  });
  node.owed_operands = 0;
  for_each_bit(node.owed_results, [&](int i) { unowe_value(data, preserver, node.first_value + i); });
  node.owed_results = 0;
}

void drop_replay(TapeData& data, Preserver& preserver, NodeRecord& node) noexcept {
  for_each_bit(node.replay_operands, [&](int i) {
    drop_operand(data, preserver, data.operands[node.first_operand + i], node.owed_operands >> i & 1);
  });
  node.replay_operands = 0;
}

void unbind_replay(TapeData& data, Preserver& preserver, ValueId value) noexcept {
  ValueRecord& record = data.values[value];
  if (record.replay_read != kNoRead) {
    preserver.drop(record.replay_read);
    record.replay_read = kNoRead;
  }
  record.replay = Tensor();
}

void unbind_segment(TapeData& data, Preserver& preserver, const SegmentInstance& instance) noexcept {
  for (ValueId v = instance.first_value; v < instance.end_value; ++v) {
    unbind_replay(data, preserver, v);
    data.values[v].replay_uses = 0;
  }
}

namespace {

/// " of segment 'layer2.0'"; with the label of the node where that says more.
std::string place_of(const TapeData& data, const NodeRecord& node) {
  std::string segment = node.segment == kNone ? "" : data.segments[node.segment].name, text;
  if (*node.label && node.label != segment) text = std::string(" in ") + node.label;
  return segment.empty() ? text : text + fmt::format(" of segment '{}'", segment);
}

/// "operand a", "its result 0" of a node.
std::string read_name(const NodeRecord& node, int operand, ValueId value) {
  if (operand == kOwnResult) return fmt::format("its result {}", value - node.first_value);
  return "operand " + operand_name(*node.op, node.inputs, operand);
}

}  // namespace

void require_unwritten(const TapeData& data, const Preserver& preserver, std::uint32_t reader, int operand,
                       ValueId value, Clock seen) {
  const ValueRecord& record = data.values[value];
  const Storage& storage = record.tensor.storage();
  bool overwritten = record.read != kNoRead;  // in order, and saved as it was just before
  Clock version = overwritten ? preserver.version(record.read) : storage.clock();
  if (record.restored || version <= seen) return;
  const Writer& writer = overwritten ? preserver.writer(record.read) : storage.last_writer();
  const NodeRecord &maker = data.nodes[record.node], &node = data.nodes[reader];
  fail(ErrorKind::replay,
       "[{}] node {}{} expected {} ({}{}bytes {} of {} made by {}, node {}) at version {}, got version {} ({}): it was "
       "written past its tape. Copy the value first, or write it by an op that takes it as an update.",
       node.op->name, reader, place_of(data, node), read_name(node, operand, value), storage.name(),
       storage.name().empty() ? "" : ", ", record.tensor.region().describe(), to_string(record.tensor.shape()),
       maker.op->name, record.node, seen, version, said({version, writer}));
}

void owe_aliases(TapeData& data, Preserver& preserver, ValueId value) {
  ValueId root = data.values[value].root;
  for (ValueId at = root; at != kNoValue; at = data.values[at].next_alias) {
    ValueRecord& record = data.values[at];
    if (record.owed == 0 || record.read != kNoRead || !record.tensor.defined()) continue;
    if (record.tensor.storage_ref() == data.values[value].tensor.storage_ref()) {
      StateOption option = record.segment == kNone ? StateOption::whole : data.segments[record.segment].option.state;
      const NodeRecord& node = data.nodes[record.node];
      record.read =
          preserver.owe(record.tensor.storage(), record.tensor.region(), option,
                        {record.segment == kNone ? "" : data.segments[record.segment].name, node.op->name, "result"});
    }
  }
}

}  // namespace reprise
