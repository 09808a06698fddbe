#include "models/train/not_finite.h"

#include <cmath>

namespace reprise {
namespace {

std::int64_t count_not_finite(const Tensor& tensor) {
  if (!tensor.defined() || !is_floating(tensor.dtype())) return 0;
  std::int64_t count = 0;
  for (double value : tensor.to_doubles()) count += std::isfinite(value) ? 0 : 1;
  return count;
}

/// Text about a node with a result that is not finite; empty when all of them are.
std::string describe_node(const TapeData& data, std::uint32_t index) {
  const NodeRecord& node = data.nodes[index];
  for (int r = 0; r < node.results; ++r) {
    const Tensor& result = data.values[node.first_value + r].tensor;
    std::int64_t count = count_not_finite(result);
    if (count == 0) continue;
    std::string text =
        fmt::format("the first op whose output is not finite is {} (node {} of the step), {} of {} numbers of shape {}",
                    node.op->name, index, count, result.size(), to_string(result.shape()));
    for (int i = 0; i < node.inputs; ++i) {
      const OperandRecord& operand = data.operands[node.first_operand + i];
      if (operand.kind != OperandKind::leaf && operand.kind != OperandKind::state) continue;
      std::int64_t bad = count_not_finite(operand.tensor);
      if (bad > 0)
        text += fmt::format("; its operand '{}' holds {} such numbers already", operand.tensor.storage().name(), bad);
    }
    return text;
  }
  return "";
}

}  // namespace

std::string describe_first_not_finite(TrainableModel& model, const Batch& batch, Memory& memory) {
  std::string text;
  try {
    Tape tape(memory, {.record = false});
    tape.set_node_hook([&](std::uint32_t node) {
      if (text.empty()) text = describe_node(tape.data(), node);
    });
    Forward again = model.forward(tape, batch, SegmentMarks{});
  } catch (const Error& error) {
    if (text.empty()) text = std::string("the op was not found: ") + error.what();
  }
  return text.empty() ? "no op's output was not finite when the forward ran again" : text;
}

}  // namespace reprise
