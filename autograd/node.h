// The tape's records: values, operands, nodes and segment instances, as plain indexed arrays. Read by the engine,
// replay, explain and tests; written by the tape (forward) and the engine (backward) only.
//
// Note: counting what is owed. `ValueRecord::owed` counts the obligations on a value's bytes: one per node whose
// backward formula saves it, one per segment whose replay reads it from outside, one if it is kept for its own
// segment. In a segment that will be replayed, formula saves of values born inside are not counted: they are
// recomputed. State operands are owed through the preserver at once, region by region; values only when they are
// written in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/op.h"
#include "autograd/value.h"
#include "memory/preserver.h"

namespace reprise {

constexpr std::uint32_t kNone = 0xffffffffu;

struct ValueRecord {
  Tensor tensor;                  // its bytes while they are held; shape and dtype always
  Tensor replay;                  // its bytes in the replay that is under way
  Tensor cotangent;               // gradient gathered so far in the backward under way
  std::uint32_t node = kNone;     // the node that made it
  std::uint32_t segment = kNone;  // outermost segment instance it was born in
  ValueId root = kNoValue;        // first value of the chain of views and in-place versions that share bytes
  ValueId next_alias = kNoValue;  // next value of that chain
  std::int64_t shift = 0;         // of a view: elements from where the value that it views begins
  ReadId read = kNoRead;          // set when its bytes were overwritten while owed
  ReadId replay_read = kNoRead;   // the same on the private memory of a replay
  Clock made = 0;                 // of its storage when it had been made
  std::int32_t owed = 0;
  std::int32_t replay_uses = 0;    // uses still to come in the replay under way
  std::int32_t alias_handles = 0;  // on a root: live handles of the whole chain
  Handle* handle = nullptr;
  bool requires_grad = false;
  bool overwritten = false;  // an in-place write has replaced it
  bool let_go = false;       // owed, and without bytes until its run is restored
  bool restored = false;     // its run has given it other memory since
};

enum class OperandKind : std::uint8_t { absent, value, leaf, state };

struct OperandRecord {
  OperandKind kind = OperandKind::absent;
  ValueId value = kNoValue;
  LeafRef leaf;
  Tensor tensor;          // for leaf and state: the view that was read or written
  ReadId read = kNoRead;  // for leaf and state: what the preserver keeps for it
  Clock seen = 0;         // for a value: of its storage when it was read
};

struct NodeRecord {
  const Op* op = nullptr;
  const OpInfo* info = nullptr;
  const char* label = nullptr;
  std::uint32_t first_operand = 0;
  std::uint32_t first_value = 0;  // results: outputs, made, then new values of updates
  std::uint16_t inputs = 0, updates = 0, outputs = 0, results = 0;
  std::uint32_t segment = kNone;
  Mask wanted = 0;                             // operands that want a gradient
  Mask saved_operands = 0, saved_results = 0;  // what the backward formula reads
  Mask owed_operands = 0, owed_results = 0;    // of those, counted in owed (or held as a read)
  Mask replay_operands = 0;                    // operands from outside that a replay of its segment reads
  Attrs attrs;
  DrawRange draw;
  std::int64_t forward_workspace = 0, backward_workspace = 0;
  std::uint32_t runs = 0;       // how often its forward has physically run
  std::uint64_t signature = 0;  // in a dry trace: what it is, as a schedule compares it
  bool consumed = false;
  bool aborted = false;  // its segment's body threw, or it could not be closed
};

/// What a segment does with its values, and how reads that it owes are preserved.
enum class ValueOption : std::uint8_t { retain, replay };
struct SegmentOption {
  ValueOption values = ValueOption::retain;
  StateOption state = StateOption::whole;
  std::uint32_t run = 0;  // neighbours of one number, not 0, are a two-level run (see SegmentInstance)
  bool run_ends = false;  // this is the last of its run
};

/// Chooses the option of each outermost segment instance when it begins.
class SegmentPolicy {
 public:
  virtual ~SegmentPolicy() = default;
  virtual SegmentOption choose(const char* name, std::uint32_t instance) = 0;
};

// Note on two-level runs. Of neighbouring replayed segments in one run, the values that pass between them are let go of
// when the last has closed. Before the backward enters any of them, the run is restored: its segments but the last are
// replayed once, keeping only those values; then each is replayed again when its turn comes. So between forward and
// backward a run holds no more than what goes into it.

struct SegmentInstance {
  const char* name = "";  // interned
  std::uint32_t first_node = 0, end_node = 0;
  ValueId first_value = 0, end_value = 0;
  bool closed = false;
  SegmentOption option;
  std::vector<std::uint32_t> needed;  // nodes that a replay runs, ascending
  std::vector<ValueId> kept;          // values owed on behalf of this instance itself
  std::vector<ValueId> outputs;
  std::vector<std::string> context;       // what the replayer noted of its surroundings in forward
  std::uint32_t replay_next = 0;          // in `needed`: where the replay under way stands
  bool replaying = false;                 // its replayed values are bound
  std::vector<std::uint32_t> run_needed;  // nodes that restoring its run replays, ascending; empty once that is done
  std::vector<ValueId> let_go;            // outputs that its run has let go of and must restore
  std::uint32_t run_next = 0;             // in `run_needed`
  bool run_counted = false;               // its restoration is under way
  bool replayable() const { return option.values == ValueOption::replay; }
};

/// Where a backward stands, so that after a failure the same call goes on with the next node.
struct BackwardState {
  bool active = false;
  bool running = false;  // the engine is at work: what calls the tape now is a hook
  bool keep = false;
  std::uint32_t spoiled = kNone;      // a node that failed half-way through changing sums and cannot run again
  std::vector<Ref<Handle>> roots;     // as handles: a hook may write one in place before the backward fails
  std::vector<std::uint8_t> reached;  // per node
  std::uint32_t next = 0;             // nodes [0, next) are still to be visited
  std::uint32_t segment = kNone;      // the instance whose nodes are being visited
  struct LeafUse {
    LeafRef leaf;
    std::uint32_t lowest;  // the last node, in backward order, that contributes
    std::size_t next_hook = 0;
  };
  std::vector<LeafUse> leaves;
  std::size_t first_pending_leaf = 0;
};

struct TapeData {
  std::uint32_t step = 1;  // steps begun on this tape: one more with each that is cleared
  std::vector<NodeRecord> nodes;
  std::vector<OperandRecord> operands;
  std::vector<ValueRecord> values;
  std::vector<SegmentInstance> segments;
  std::vector<const char*> segment_stack;  // names of the open segments, outermost first
  std::uint32_t open_segment = kNone;      // the outermost open instance
  BackwardState backward;
  std::map<std::pair<int, std::uint64_t>, Tensor> constants;
  Handle* live_handles = nullptr;
  bool data_dependent = false;  // a dry trace had to guess a region that depends on data
};

/// The tensor that an operand is: a value's as it is now (perhaps without bytes), a leaf's or a state's as it was
/// handed over; undefined for one that was left out.
inline const Tensor& tensor_of(const TapeData& data, const OperandRecord& operand) {
  return operand.kind == OperandKind::value ? data.values[operand.value].tensor : operand.tensor;
}

}  // namespace reprise
