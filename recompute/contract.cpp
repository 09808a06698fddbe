#include "recompute/contract.h"

#include <fmt/core.h>

#include <algorithm>

#include "autograd/lifetime.h"
#include "ops/implementation.h"
#include "recompute/bounding_regions.h"
#include "recompute/context.h"
#include "recompute/contract_names.h"
#include "recompute/fingerprint.h"

namespace reprise {

RegionSummary summarise(const Region& region) {
  RegionSummary summary{region.bytes(), static_cast<std::int64_t>(region.run_count()), region.cover().lo,
                        region.cover().hi, ""};
  std::span<const Run> runs = region.runs();
  summary.hash = fingerprint({reinterpret_cast<const char*>(runs.data()), runs.size_bytes()});
  return summary;
}

std::string describe(const RegionSummary& region) {
  if (region.runs <= 1) return fmt::format("[{}, {})", region.begin, region.end);
  return fmt::format("{} runs, {} B in [{}, {})", region.runs, region.bytes, region.begin, region.end);
}

std::string describe(const LastWriter& writer) {
  if (writer.op.empty()) return "nobody";
  return writer.node.empty() ? writer.op + " before this forward" : fmt::format("{} at {}", writer.op, writer.node);
}

std::int64_t ReplayContract::needed_count() const {
  return std::count_if(nodes.begin(), nodes.end(), [](const ContractNode& node) { return node.needed; });
}

namespace {

using contract::Names;

/// The implementation that runs the node's forward; empty where the op has but one.
std::string kernel_of(const NodeRecord& node, const RegionContext& operands) {
  std::vector<Shape> shapes;
  for (int i = 0; i < node.inputs; ++i) {
    const Tensor& tensor = operands.operand(i);
    if (tensor.defined() || !tensor.shape().empty()) shapes.push_back(tensor.shape());
  }
  if (shapes.empty()) return "";
  Why forward = why(*node.op, shapes, operands.operand(0).dtype(), node.attrs).front();
  return forward.refused.empty() && forward.chosen == kOwnLoops ? "" : forward.chosen;
}

/// Who keeps the bytes of each value.
struct Holders {
  bool decision = false, formula = false, replay = false;
};

class ContractBuilder {
 public:
  ContractBuilder(Tape& tape, std::int64_t micro_batch)
      : data_(tape.data()), preserver_(tape.memory().preserver()), names_(data_), holders_(data_.values.size()) {
    find_holders();
    std::vector<std::string> context = read_contexts(tape);
    for (std::size_t s = 0; s < names_.units().size(); ++s) add_contract(s, micro_batch, context);
    add_values();
  }

  ContractSet take() { return std::move(set_); }

 private:
  const OperandRecord& operand(const NodeRecord& node, int i) const { return data_.operands[node.first_operand + i]; }
  void find_holders();
  void add_contract(std::size_t unit, std::int64_t micro_batch, const std::vector<std::string>& context);
  void add_node(ReplayContract& contract, std::size_t unit, std::uint32_t index);
  void explain_needs(ReplayContract& contract, const Unit& unit);
  void add_reads(ReplayContract& contract, std::size_t unit, std::uint32_t index);
  void add_effects(ReplayContract& contract, const Unit& unit, std::uint32_t index);
  void add_preserved(ReadId read, std::size_t unit, const std::string& storage, bool counts);
  void add_values();

  const TapeData& data_;
  const Preserver& preserver_;
  Names names_;
  std::vector<Holders> holders_;
  ContractSet set_;
  std::map<const void*, std::size_t> preserved_at_;
};

void ContractBuilder::find_holders() {
  for (const NodeRecord& node : data_.nodes) {
    for_each_bit(node.owed_operands, [&](int i) {
      if (operand(node, i).kind == OperandKind::value) holders_[operand(node, i).value].formula = true;
    });
    for_each_bit(node.owed_results, [&](int r) { holders_[node.first_value + r].formula = true; });
    for_each_bit(node.replay_operands, [&](int i) {
      if (operand(node, i).kind == OperandKind::value) holders_[operand(node, i).value].replay = true;
    });
  }
  for (const SegmentInstance& instance : data_.segments) {
    for (ValueId v : instance.kept) {
      const NodeRecord& node = data_.nodes[data_.values[v].node];
      bool decision = node.info->decisions >> (v - node.first_value) & 1;
      (decision ? holders_[v].decision : holders_[v].replay) = true;
    }
  }
}

void ContractBuilder::add_contract(std::size_t index, std::int64_t micro_batch,
                                   const std::vector<std::string>& context) {
  const Unit& unit = names_.units()[index];
  ReplayContract& contract = set_.contracts.emplace_back();
  contract.segment = unit.id;
  contract.micro_batch = micro_batch;
  SegmentOption option = unit.segment == kNone ? SegmentOption{} : data_.segments[unit.segment].option;
  contract.values = option.values == ValueOption::replay ? "replay" : "retain";
  contract.state = to_string(option.state);
  for (std::uint32_t n = unit.first_node; n < unit.end_node; ++n) {
    add_node(contract, index, n);
    add_reads(contract, index, n);
    add_effects(contract, unit, n);
  }
  if (contract.replayed()) explain_needs(contract, unit);
  const std::vector<std::string>& noted = unit.segment != kNone && !data_.segments[unit.segment].context.empty()
                                              ? data_.segments[unit.segment].context
                                              : context;
  for (std::size_t i = 0; i < noted.size(); ++i) contract.context.push_back({context_keys()[i].name, noted[i]});
}

void ContractBuilder::add_node(ReplayContract& contract, std::size_t unit, std::uint32_t index) {
  const NodeRecord& node = data_.nodes[index];
  ContractNode& out = contract.nodes.emplace_back();
  out.number = index - names_.units()[unit].first_node;
  out.op = node.op->name;
  out.label = node.label;
  out.kernel = kernel_of(node, BoundingRegions(node, data_, BoundingRegions::Data::unread));
  out.attrs = contract::attr_texts(node);
  for (int i = 0; i < node.inputs + node.updates; ++i) {
    const OperandRecord& from = operand(node, i);
    out.operands.push_back(from.kind == OperandKind::absent  ? ""
                           : from.kind == OperandKind::value ? names_.value(from.value, unit)
                                                             : names_.storage(from));
  }
  for (int r = 0; r < node.results; ++r)
    out.results.push_back(contract::type_text(data_.values[node.first_value + r].tensor));
}

/// The reason why a replay runs a node is the first node that asks for what it makes.
void ContractBuilder::explain_needs(ReplayContract& contract, const Unit& unit) {
  const SegmentInstance& instance = data_.segments[unit.segment];
  for (std::uint32_t n : instance.needed) contract.nodes[n - unit.first_node].needed = true;
  auto asked = [&](ValueId v, const ContractNode& by, const char* how) {
    const ValueRecord& value = data_.values[v];
    if (value.segment != unit.segment || value.tensor.defined()) return;
    ContractNode& maker = contract.nodes[value.node - unit.first_node];
    if (maker.needed && maker.why.empty()) maker.why = fmt::format("{} of #{} {} reads it", how, by.number, by.op);
  };
  for (ContractNode& out : contract.nodes) {
    const NodeRecord& node = data_.nodes[unit.first_node + static_cast<std::uint32_t>(out.number)];
    if (node.wanted) {
      for_each_bit(node.saved_operands, [&](int i) {
        if (operand(node, i).kind == OperandKind::value) asked(operand(node, i).value, out, "the backward");
      });
      for_each_bit(node.saved_results,
                   [&](int r) { asked(node.first_value + static_cast<ValueId>(r), out, "the backward"); });
    }
    if (!out.needed) continue;
    for (int i = 0; i < node.inputs + node.updates; ++i) {
      if (operand(node, i).kind == OperandKind::value) asked(operand(node, i).value, out, "the replay");
    }
  }
  for (ContractNode& out : contract.nodes) {
    if (out.needed) continue;
    const NodeRecord& node = data_.nodes[unit.first_node + static_cast<std::uint32_t>(out.number)];
    bool kept = false;
    for (int r = 0; r < node.results; ++r) kept |= data_.values[node.first_value + r].tensor.defined();
    out.why = kept ? "what it made is kept" : "no backward reads what it made";
  }
}

void ContractBuilder::add_reads(ReplayContract& contract, std::size_t unit, std::uint32_t index) {
  const NodeRecord& node = data_.nodes[index];
  Mask owed = node.owed_operands | node.replay_operands;
  for_each_bit(owed, [&](int i) {
    const OperandRecord& from = operand(node, i);
    bool value = from.kind == OperandKind::value;
    if (value && names_.units().of_node(data_.values[from.value].node) == unit) return;
    const Tensor& tensor = tensor_of(data_, from);
    ReadId read = value ? data_.values[from.value].read : from.read;
    ContractRead& out = contract.reads.emplace_back();
    out.node = index - names_.units()[unit].first_node;
    out.operand = operand_name(*node.op, node.inputs, i);
    out.kind = value ? "value" : from.kind == OperandKind::leaf ? "leaf" : "state";
    out.storage = value ? names_.value(from.value, unit) : names_.storage(from);
    out.dtype = to_string(tensor.dtype());
    out.region = summarise(read != kNoRead ? preserver_.region(read) : tensor.region());
    // A value that its two-level run has let go of has no storage now; it comes back as it was made.
    Clock version = read != kNoRead ? preserver_.version(read) : tensor.defined() ? tensor.storage().clock() : 0;
    out.version = static_cast<std::int64_t>(version);
    out.for_replay = node.replay_operands >> i & 1;
    out.for_formula = node.owed_operands >> i & 1;
    if (value) {
      std::uint32_t made_by = data_.values[from.value].node;
      out.writer = {data_.nodes[made_by].op->name, names_.node(made_by)};
    } else {
      out.writer = names_.writer(preserver_.writer(read), version, tensor.storage(), index);
    }
    if (read != kNoRead) add_preserved(read, unit, out.storage, !value);
  });
}

void ContractBuilder::add_effects(ReplayContract& contract, const Unit& unit, std::uint32_t index) {
  const NodeRecord& node = data_.nodes[index];
  std::int64_t number = index - unit.first_node;
  if (node.draw.count > 0) {
    contract.draws.push_back({number, node.draw.seed, node.draw.id, node.draw.position, node.draw.count});
    contract.effects.push_back({number, node.op->name, "draw", "", {}});
  }
  if (node.op->effect) contract.effects.push_back({number, node.op->name, "outside", "", {}});
  for (int i = node.inputs; i < node.inputs + node.updates; ++i) {
    const OperandRecord& to = operand(node, i);
    if (to.kind == OperandKind::value && data_.values[to.value].segment == node.segment) continue;
    ContractEffect& out = contract.effects.emplace_back();
    out.node = number;
    out.op = node.op->name;
    out.what = "write";
    bool value = to.kind == OperandKind::value;
    const Tensor& tensor = tensor_of(data_, to);
    out.storage = value ? names_.value(to.value, names_.units().of_node(index)) : names_.storage(to);
    BoundingRegions context(node, data_, BoundingRegions::Data::unread);
    out.region = summarise(node.op->region ? node.op->region(context, i) : tensor.region());
  }
}

void ContractBuilder::add_preserved(ReadId read, std::size_t unit, const std::string& storage, bool counts) {
  for (const Preserver::Kept& kept : preserver_.kept(read)) {
    auto [at, fresh] = preserved_at_.emplace(kept.id, set_.preserved.size());
    if (fresh) {
      PreservedObject& object = set_.preserved.emplace_back();
      object.storage = storage;
      object.whole = kept.whole;
      object.data_bytes = kept.data_bytes;
      object.row_list_bytes = kept.row_list_bytes;
      object.charged_bytes = round_up_64(kept.data_bytes + kept.row_list_bytes);
      object.killer = {kept.killer.name, ""};
      auto n = static_cast<std::size_t>(kept.killer.sequence);
      if (n < data_.nodes.size() && object.killer.op == data_.nodes[n].op->name)
        object.killer.node = names_.node(static_cast<std::uint32_t>(n));
    }
    PreservedObject& object = set_.preserved[at->second];
    object.reads += counts;
    const std::string& id = names_.units()[unit].id;
    if (std::find(object.segments.begin(), object.segments.end(), id) == object.segments.end())
      object.segments.push_back(id);
  }
}

/// Values that hold bytes now, each storage once; and what is preserved for those overwritten.
void ContractBuilder::add_values() {
  std::map<const Storage*, std::pair<std::size_t, std::size_t>> of;  // contract, entry of its list
  for (ValueId v = 0; v < data_.values.size(); ++v) {
    const ValueRecord& value = data_.values[v];
    if (!value.tensor.defined()) continue;
    std::size_t unit = names_.units().of_node(value.node);
    if (value.read != kNoRead) add_preserved(value.read, unit, names_.value(v, names_.units().size()), true);
    std::vector<KeptValue>& list = set_.contracts[unit].kept;
    auto [at, fresh] = of.emplace(&value.tensor.storage(), std::pair(unit, list.size()));
    if (fresh) {
      list.push_back({names_.value(v, unit), data_.nodes[value.node].op->name, contract::type_text(value.tensor),
                      round_up_64(value.tensor.storage().bytes())});
    }
    KeptValue& kept = set_.contracts[at->second.first].kept[at->second.second];
    kept.decision |= holders_[v].decision;
    kept.formula |= holders_[v].formula;
    kept.replay |= holders_[v].replay;
    kept.handle |= value.handle != nullptr;
  }
}

}  // namespace

ContractSet read_contracts(Tape& tape, std::int64_t micro_batch) { return ContractBuilder(tape, micro_batch).take(); }

}  // namespace reprise
