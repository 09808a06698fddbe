#include "recompute/planning/kills.h"

#include "recompute/bounding_regions.h"

namespace reprise {

Kills::Kills(const Tape& tape) : data_(tape.data()) {
  for (std::uint32_t n = 0; n < data_.nodes.size(); ++n) {
    const NodeRecord& node = data_.nodes[n];
    for (int u = 0; u < node.updates; ++u) {
      const OperandRecord& operand = data_.operands[node.first_operand + node.inputs + u];
      if (operand.kind == OperandKind::absent) continue;
      if (operand.kind == OperandKind::value && !data_.values[operand.value].overwritten) continue;
      writes_[key_of(operand)].push_back({{n, u}, region_of(node, node.inputs + u)});
    }
  }
}

/// Chains of values have odd keys, storages even ones.
std::uint64_t Kills::key_of(ValueId value) const { return std::uint64_t{data_.values[value].root} * 2 + 1; }

std::uint64_t Kills::key_of(const OperandRecord& operand) const {
  return operand.kind == OperandKind::value ? key_of(operand.value) : operand.tensor.storage().serial() * 2;
}

Region Kills::region_of(const NodeRecord& node, int index) const {
  BoundingRegions context(node, data_, BoundingRegions::Data::as_it_is);
  const OperandRecord& operand = data_.operands[node.first_operand + index];
  if (operand.kind == OperandKind::value) return data_.values[operand.value].tensor.region();
  return node.op->region ? node.op->region(context, index) : operand.tensor.region();
}

/// The value that a read with a negative operand means.
ValueId Kills::result_of(const WalkedRead& read) const {
  return data_.nodes[read.node].first_value + static_cast<ValueId>(-1 - read.operand);
}

const Tensor& Kills::tensor_of(const WalkedRead& read) const {
  const NodeRecord& node = data_.nodes[read.node];
  if (read.operand < 0) return data_.values[result_of(read)].tensor;
  return data_.operands[node.first_operand + read.operand].tensor;
}

std::vector<KilledPart> Kills::of(const WalkedRead& read) const {
  const NodeRecord& node = data_.nodes[read.node];
  bool value = read.operand < 0;
  std::uint64_t key = value ? key_of(result_of(read)) : key_of(data_.operands[node.first_operand + read.operand]);
  std::vector<KilledPart> parts;
  auto at = writes_.find(key);
  if (at == writes_.end()) return parts;
  Region live = value ? tensor_of(read).region() : region_of(node, read.operand);
  for (const Write& write : at->second) {
    // A node reads before it writes; a value is there only after its own node.
    if (value ? write.at.node <= read.node : write.at.node < read.node) continue;
    if (write.at.node >= read.nodes) break;  // nobody owes it any more
    Region part = intersect(live, write.region);
    if (part.empty()) continue;
    live = subtract(live, part);
    parts.push_back({write.at, std::move(part)});
  }
  return parts;
}

KilledStorage Kills::storage(const WalkedRead& read) const {
  const Tensor& tensor = tensor_of(read);
  std::string name = tensor.defined() ? tensor.storage().name() : "";
  if (name.empty()) name = read.operand < 0 ? std::string("a value of ") + data_.nodes[read.node].op->name : "a state";
  std::int64_t bytes = tensor.defined() ? tensor.storage().bytes() : tensor.bytes();
  return {std::move(name), bytes};
}

}  // namespace reprise
