// Names of nodes, values and storages in contracts, each as seen from a unit (recompute/units.h). Used by
// recompute/contract.cpp only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "recompute/contract.h"
#include "recompute/units.h"

namespace reprise::contract {

class Names {
 public:
  explicit Names(const TapeData& data) : data_(data), units_(data) {}

  const Units& units() const { return units_; }
  /// "#3" in its own unit, else "head#3".
  std::string node(std::uint32_t node, std::size_t seen_from) const;
  std::string node(std::uint32_t node) const { return this->node(node, units_.size()); }
  /// The same with ".1" for the second result of the node.
  std::string value(ValueId value, std::size_t seen_from) const;
  /// The storage's name; storages of one name are told apart, and those without are numbered as they come.
  std::string storage(const OperandRecord& operand);
  /// The writer as a node of this tape where it is one that has written `storage` before node `before`.
  LastWriter writer(const Writer& writer, Clock version, const Storage& storage, std::uint32_t before) const;

 private:
  std::string number_of(const Storage& storage) const;

  const TapeData& data_;
  Units units_;
  std::map<std::uint64_t, std::string> storages_;  // by serial
  std::set<std::string> taken_;
  int unnamed_ = 0;
};

/// "stride_h=1" for each attribute that the op declares.
std::vector<std::string> attr_texts(const NodeRecord& node);
/// "f32[2, 3]".
std::string type_text(const Tensor& tensor);

}  // namespace reprise::contract
