// BoundingRegions: the operands of a recorded node, for Op::region after its forward has run. Used by contracts and by
// the planner.
#pragma once

#include "autograd/node.h"
#include "autograd/op.h"

namespace reprise {

class BoundingRegions final : public RegionContext {
 public:
  enum class Data : std::uint8_t {
    unread,     // the region that bounds the true one, the same whatever has happened since: only constants are read
    as_it_is,   // rows that stand in memory are read, as right after the forward
  };
  BoundingRegions(const NodeRecord& node, const TapeData& data, Data reads) : node_(node), data_(data), reads_(reads) {}
  const Op& op() const override { return *node_.op; }
  const Attrs& attrs() const override { return node_.attrs; }
  int input_count() const override { return node_.inputs; }
  const Tensor& operand(int index) const override {
    const OperandRecord& record = data_.operands[node_.first_operand + index];
    return record.kind == OperandKind::value ? data_.values[record.value].tensor : record.tensor;
  }
  TensorView view(int index) const override {
    const Tensor& tensor = operand(index);
    if (!tensor.defined()) return tensor.shape_view();
    bool there = (reads_ == Data::as_it_is || tensor.storage().is_constant()) && tensor.storage().host_read();
    return there ? tensor.view() : tensor.shape_view();
  }

 private:
  const NodeRecord& node_;
  const TapeData& data_;
  Data reads_;
};

}  // namespace reprise
