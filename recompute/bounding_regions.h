// BoundingRegions: the operands of a recorded node, for Op::region after its forward has run. Used by contracts and by
// the planner.
#pragma once

#include <cstdint>

#include "autograd/recorded_operands.h"

namespace reprise {

class BoundingRegions final : public RecordedOperands {
 public:
  enum class Data : std::uint8_t {
    unread,    // the region that bounds the true one, the same whatever has happened since: only constants are read
    as_it_is,  // rows that stand in memory are read, as right after the forward
  };
  BoundingRegions(const NodeRecord& node, const TapeData& data, Data reads)
      : RecordedOperands(node, data), reads_(reads) {}
  TensorView view(int index) const override {
    const Tensor& tensor = operand(index);
    if (!tensor.defined()) return tensor.shape_view();
    bool there = (reads_ == Data::as_it_is || tensor.storage().is_constant()) && tensor.storage().host_read();
    return there ? tensor.view() : tensor.shape_view();
  }

 private:
  Data reads_;
};

}  // namespace reprise
