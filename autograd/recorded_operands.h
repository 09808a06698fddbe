// RecordedOperands: the operands of a recorded node as Op::region sees them. What may be read of their bytes differs:
// the tape as it records, contracts and the planner afterwards each derive from it and say so in view().
#pragma once

#include "autograd/node.h"
#include "autograd/op.h"

namespace reprise {

class RecordedOperands : public RegionContext {
 public:
  RecordedOperands(const NodeRecord& node, const TapeData& data) : node_(node), data_(data) {}
  const Op& op() const override { return *node_.op; }
  const Attrs& attrs() const override { return node_.attrs; }
  int input_count() const override { return node_.inputs; }
  const Tensor& operand(int index) const override {
    return tensor_of(data_, data_.operands[node_.first_operand + index]);
  }

 private:
  const NodeRecord& node_;
  const TapeData& data_;
};

}  // namespace reprise
