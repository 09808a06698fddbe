// Who keeps a value's bytes: handles and what is owed. Both counts end here, in one place, so that memory is let go of
// at the first moment nobody can ask for it.
#pragma once

#include <cstdint>

#include "autograd/node.h"

namespace reprise {

/// One more obligation on the bytes of `value`.
inline void owe_value(TapeData& data, ValueId value) { ++data.values[value].owed; }

/// One obligation less; lets go of the bytes when none is left and no handle names the value.
void unowe_value(TapeData& data, Preserver& preserver, ValueId value) noexcept;

/// Lets go of the bytes if neither a handle nor an obligation keeps them.
void release_if_unneeded(TapeData& data, Preserver& preserver, ValueId value) noexcept;

/// Ends the obligations on operands and results that `node` holds for its backward formula.
void drop_formula(TapeData& data, Preserver& preserver, NodeRecord& node) noexcept;

/// Ends the obligations that `node` holds for a replay of its segment.
void drop_replay(TapeData& data, Preserver& preserver, NodeRecord& node) noexcept;

/// Ends the binding of `value` to the private memory of a replay.
void unbind_replay(TapeData& data, Preserver& preserver, ValueId value) noexcept;

/// The same for all values of `instance`; uses that were still to come are forgotten.
void unbind_segment(TapeData& data, Preserver& preserver, const SegmentInstance& instance) noexcept;

/// Marks the present bytes of all values that share memory with `value` and are owed, before they are overwritten.
void owe_aliases(TapeData& data, Preserver& preserver, ValueId value);

/// In place of an operand's number: a result of the reader's own.
constexpr int kOwnResult = -1;
/// Called before node `reader` is shown the bytes that are held of `value`: as its `operand`, or kOwnResult.
/// Errors (replay): they were written past the tape since the storage stood at `seen`. An op that overwrites a value
/// has its old bytes saved where they are owed; host code that writes them, or an op that is given them as a state,
/// does not know whose they are.
void require_unwritten(const TapeData& data, const Preserver& preserver, std::uint32_t reader, int operand,
                       ValueId value, Clock seen);

/// Calls f(position) for each member of a mask, ascending.
template <class F>
void for_each_bit(Mask mask, F&& f) {
  while (mask) {
    int i = __builtin_ctzll(mask);
    mask &= mask - 1;
    f(i);
  }
}

}  // namespace reprise
