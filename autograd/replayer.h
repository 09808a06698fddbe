// The interface through which the engine asks for a segment's values again. Implemented by recompute/replay.h; autograd
// owns it so that the arrow between the rooms points one way.
#pragma once

#include <cstdint>

namespace reprise {

class Tape;

class Replayer {
 public:
  virtual ~Replayer() = default;
  /// Told when instance `segment` begins and as it ends (it is still open then), if it will be replayed: the time to
  /// note in SegmentInstance::context what its kernels depend on besides their operands.
  virtual void note_context(Tape& /*tape*/, std::uint32_t /*segment*/) {}
  /// Runs what is still to be run of the needed nodes of instance `segment` and binds their values. After an error the
  /// call may be made again and goes on with the node that failed; states and streams have not moved.
  virtual void replay(Tape& tape, std::uint32_t segment) = 0;
  /// Gives back the values that the run of instance `segment` has let go of, if that was not done. May be called again
  /// after an error, as replay().
  virtual void restore_run(Tape& tape, std::uint32_t segment) = 0;
};

}  // namespace reprise
