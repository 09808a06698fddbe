// The second half of NodeBuilder: making the executed node and its results part of the tape. By then the op has
// written, so the room for that is made before (make_room), and nothing here can fail.

#include "autograd/lifetime.h"
#include "autograd/node_builder.h"
#include "core/recycled.h"

namespace reprise {

namespace {
const ValueRecord kBlankValue;  // see the note in node_builder.cpp
}

/// For the node, its results and the handles that the program will ask for.
void NodeBuilder::make_room() {
  grow_room(data_.nodes, 1);
  grow_room(data_.values, node_.results);
  if (replayable() && (info_.decisions | choice_.kept_results) != 0)
    grow_room(data_.segments[node_.segment].kept, node_.results);
  Handle** last = &scratch_.free_handles;
  for (int i = 0; i < node_.outputs; ++i, last = &(*last)->next) {
    if (!*last) *last = new Handle;
  }
}

void NodeBuilder::commit() noexcept {
  if (op_.draws) options_.stream->take(node_.draw.count);
  std::uint32_t index = static_cast<std::uint32_t>(data_.nodes.size());
  data_.nodes.push_back(node_);
  for (int r = 0; r < static_cast<int>(scratch_.results.size()); ++r) {
    ValueId root = static_cast<ValueId>(data_.values.size());
    if (op_.view && record(0).kind == OperandKind::value) root = data_.values[record(0).value].root;
    commit_result(r, std::move(scratch_.results[r].tensor), root);
  }
  for (int u = 0; u < node_.updates; ++u) {
    if (scratch_.updates[u].result >= 0) commit_update(u);
  }
  scratch_.updates.clear();
  NodeRecord& node = data_.nodes[index];
  bool count_saves = tape_.options().record && !replayable();
  if (count_saves) {
    node.owed_results = planned_ ? node.saved_results & planned_->formula_results : node.saved_results;
    for_each_bit(node.owed_results, [&](int r) { owe_value(data_, node.first_value + r); });
  }
  for (ValueId v = node.first_value; v < data_.values.size(); ++v) {
    int r = static_cast<int>(v - node.first_value);
    bool made = r >= node.outputs && r < static_cast<int>(scratch_.results.size());
    if (made) release_if_unneeded(data_, preserver_, v);
  }
}

void NodeBuilder::commit_result(int index, Tensor&& tensor, ValueId root) {
  ValueId id = static_cast<ValueId>(data_.values.size());
  ValueRecord& value = data_.values.emplace_back(kBlankValue);
  value.tensor = std::move(tensor);
  value.node = static_cast<std::uint32_t>(data_.nodes.size() - 1);
  value.segment = node_.segment;
  value.root = root;
  value.made = value.tensor.storage().clock();
  if (op_.view) value.shift = scratch_.results[index].offset;  // its tensor may move in memory, and what it views too
  bool made = index >= node_.outputs && index < static_cast<int>(op_.outputs.size() + op_.made.size());
  value.requires_grad = node_.wanted != 0 && is_floating(value.tensor.dtype()) && !made;
  if (root != id) {
    value.next_alias = data_.values[root].next_alias;
    data_.values[root].next_alias = id;
  }
  bool stays = (info_.decisions | choice_.kept_results) >> index & 1;
  if (stays && replayable()) {
    owe_value(data_, id);
    data_.segments[node_.segment].kept.push_back(id);
  }
}

void NodeBuilder::commit_update(int update) {
  auto& plan = scratch_.updates[update];
  ValueId old = record(node_.inputs + update).value;
  ValueId id = static_cast<ValueId>(data_.values.size());
  commit_result(plan.result, std::move(plan.tensor), plan.fresh ? id : data_.values[old].root);
  ValueRecord& before = data_.values[old];
  before.overwritten = !plan.fresh;
  if (Handle* handle = before.handle) {
    before.handle = nullptr;
    --data_.values[before.root].alias_handles;
    handle->value = id;
    data_.values[id].handle = handle;
    ++data_.values[data_.values[id].root].alias_handles;
  }
  release_if_unneeded(data_, preserver_, old);
}

}  // namespace reprise
