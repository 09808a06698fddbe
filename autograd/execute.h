// Running one node's forward on given bytes: the same path for the first execution and for a replay, so that a replayed
// value is made by the same kernel with the same attributes. Also: resolving which bytes an operand means right now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autograd/guard.h"
#include "autograd/node.h"
#include "memory/memory.h"

namespace reprise {

/// What guard mode needs to know about one execution; null where it is off.
struct GuardedCall {
  Guard* guard = nullptr;
  std::vector<GuardOperand> operands;
  Stream* stream = nullptr;
};

/// Runs op.forward. `operands` and `results` are positioned as the op numbers them; workspace is taken and returned.
/// Errors: what the op throws, with the op's name as context.
void run_forward(Memory& memory, NodeRecord& node, const std::vector<TensorView>& operands,
                 const std::vector<TensorView>& results, bool replay, const GuardedCall* guarded = nullptr,
                 Mask given = 0);

/// Gathers the operands or saved results of one node and makes the bytes that each of them means available together.
///
/// A live entry (no read) needs the newest bytes of its storage, so what is open there is closed. Two entries of one
/// storage at different versions cannot both be live: the older ones are given as private copies.
class Serving {
 public:
  explicit Serving(Preserver& preserver) : preserver_(preserver) {}
  /// Adds a tensor; its bytes are the live ones if `read` is kNoRead. Returns its position.
  std::size_t add(const Tensor& tensor, ReadId read);
  /// Makes all of them available, as copies of their own if `apart`: for a formula that calls host code on its way,
  /// which may have other bytes served and write these. Errors: replay (guard), memory.
  void serve(bool apart = false);
  TensorView view(std::size_t at) const;
  void clear();

 private:
  struct Entry {
    Tensor tensor;
    ReadId read;
    StorageRef copy;
    std::int64_t from = 0;  // the byte of its storage that the copy begins with
  };
  void set_apart(Entry& entry);

  Preserver& preserver_;
  std::vector<Entry> entries_;
  std::vector<ReadId> reads_;
};

}  // namespace reprise
