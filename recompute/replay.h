// Replay: executes again those nodes of a segment that its backward needs, from the recorded trace, on private memory.
//
// Host code does not run again. Each outside region is shown at the version the forward read; writes to outside
// storages are never executed; in-place writes to private values are, because they are part of computing the value.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/replayer.h"
#include "autograd/tape.h"

namespace reprise {

class TraceReplayer final : public Replayer {
 public:
  void note_context(Tape& tape, std::uint32_t segment) override;
  /// Errors besides those of the nodes: replay, when the context (recompute/context.h) is not that of the forward.
  void replay(Tape& tape, std::uint32_t segment) override;
  void restore_run(Tape& tape, std::uint32_t segment) override;
  /// How often each instance was replayed from its start, by instance; for tests and conform.
  const std::vector<int>& replays() const { return replays_; }

 private:
  std::vector<int> replays_;
};

}  // namespace reprise
