// Guard: runs an op's forward or backward so that what its contract does not name shows. Used by the tape when
// TapeOptions::guard is on, and so by the op checks (recompute/op_check.h); a tape without guard never comes here.
//
// Operands and watched storages are copied before the kernel and compared after it (undeclared writes). Then it runs
// again with all that it may not touch filled with NaN, which must stand, and with results and workspace filled
// differently: other bytes mean an undeclared read, an unwritten result, or nondeterminism. Errors: internal, because
// a contract that lies is a fault of the op's code; the text says what to declare, and states are as they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "autograd/node.h"
#include "autograd/op.h"
#include "autograd/seen_values.h"

namespace reprise {

class GuardFrame;
class NodeBackward;

/// One operand of a forward: the bytes that stand for its storage, and which of them the contract names.
struct GuardOperand {
  int index = 0;  // as the op numbers operands of this node
  std::byte* base = nullptr;
  std::int64_t bytes = 0;
  Region region;  // read (inputs), read and written (updates); offsets from base
};

class Guard {
 public:
  /// From now on `storage` is compared and poisoned around every op that does not name it. The tape adds the states,
  /// leaves and gradients of leaves that ops are given by itself; a storage that only the guard holds is let go.
  void watch(const StorageRef& storage);
  /// `stream` must outlive the guard; its position may not move while a kernel runs.
  void watch(Stream& stream);
  /// Lets go of all storages and streams, and of what values were seen as.
  void clear();

  /// Runs op.forward(context). Errors: what the op throws; internal as above.
  void forward(const NodeRecord& node, ForwardContext& context, std::span<const GuardOperand> operands, Stream* stream);
  /// Runs the node's backward formula on a prepared context.
  void backward(NodeBackward& context);

  const std::vector<StorageRef>& watched() const { return storages_; }
  SeenValues& seen() { return seen_; }

 private:
  void let_go();
  void note_streams(Stream* own);
  void check_streams(const Op& op);
  GuardFrame backward_frame(const NodeBackward& context) const;
  void allow_targets(const NodeBackward& context, GuardFrame& frame) const;

  std::vector<StorageRef> storages_;
  std::vector<Stream*> streams_;
  SeenValues seen_;
  std::vector<std::pair<Stream*, std::uint64_t>> noted_;
};

}  // namespace reprise
