#include "recompute/contract_names.h"

#include <bit>

#include "core/error.h"

namespace reprise::contract {

std::string Names::node(std::uint32_t node, std::size_t seen_from) const {
  const Unit& unit = units_[units_.of_node(node)];
  std::string number = "#" + std::to_string(node - unit.first_node);
  return units_.of_node(node) == seen_from ? number : unit.id + number;
}

std::string Names::value(ValueId value, std::size_t seen_from) const {
  std::uint32_t made_by = data_.values[value].node;
  std::string text = node(made_by, seen_from);
  if (ValueId result = value - data_.nodes[made_by].first_value; result > 0) text += "." + std::to_string(result);
  return text;
}

std::string Names::number_of(const Storage& storage) const {
  for (const auto& [key, tensor] : data_.constants) {
    if (tensor.storage_ref().get() == &storage) return fmt::format("number {}", std::bit_cast<double>(key.second));
  }
  return "constant";
}

std::string Names::storage(const OperandRecord& operand) {
  const Storage& storage = operand.tensor.storage();
  std::string& name = storages_[storage.serial()];
  if (!name.empty()) return name;
  name = storage.name();
  if (name.empty() && operand.leaf) name = operand.leaf->name;
  if (name.empty() && storage.is_constant()) name = number_of(storage);
  if (name.empty()) name = "state " + std::to_string(++unnamed_);
  std::string plain = name;
  for (int i = 2; !taken_.insert(name).second; ++i) name = plain + "/" + std::to_string(i);
  return name;
}

LastWriter Names::writer(const Writer& writer, Clock version, const Storage& storage, std::uint32_t before) const {
  if (version == 0) return {};
  LastWriter last{writer.name, ""};
  if (writer.step != data_.step || writer.sequence < 0 || writer.sequence >= before) return last;
  auto n = static_cast<std::uint32_t>(writer.sequence);
  const NodeRecord& node = data_.nodes[n];
  if (last.op != node.op->name) return last;
  for (int i = node.inputs; i < node.inputs + node.updates; ++i) {
    const OperandRecord& operand = data_.operands[node.first_operand + i];
    const Tensor& tensor = tensor_of(data_, operand);
    // A value that was let go of no longer says where it was; the op's name and number have to do then.
    if (!tensor.defined() || &tensor.storage() == &storage) last.node = this->node(n);
  }
  return last;
}

std::vector<std::string> attr_texts(const NodeRecord& node) {
  std::vector<std::string> texts;
  int at = 0;
  for (const AttrSpec& spec : node.op->attrs) {
    if (at >= node.attrs.word_count()) break;
    std::string value;
    switch (spec.kind) {
      case AttrKind::integer: value = std::to_string(node.attrs.integer(at++)); break;
      case AttrKind::flag: value = node.attrs.flag(at++) ? "true" : "false"; break;
      case AttrKind::real: value = fmt::format("{}", node.attrs.real(at++)); break;
      case AttrKind::dims:
        value = to_string(node.attrs.dims(at));
        at += node.attrs.dims_words(at);
        break;
      case AttrKind::address:
        value = "(host code)";
        ++at;
        break;
    }
    texts.push_back(std::string(spec.name) + "=" + value);
  }
  return texts;
}

std::string type_text(const Tensor& tensor) { return to_string(tensor.dtype()) + to_string(tensor.shape()); }

}  // namespace reprise::contract
