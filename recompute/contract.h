// Replay contracts: all that each segment instance of a recorded forward needs from outside to be recomputed, as plain
// data that can be printed, stored, fingerprinted and compared. Made by read_contracts() from a tape that stands
// between forward and backward; used by `reprise contract`, `reprise explain` and the planner.
//
// Names do not depend on what else is on the tape: a segment is "head", its second instance "head/2", a run of nodes
// between segments "(outside)"; a node is "#3" in its own segment and "head#3" elsewhere; "#3.1" is its second result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/tape.h"

namespace reprise {

/// A set of bytes in few words; `hash` is of all its runs, so that equal summaries mean equal regions.
struct RegionSummary {
  std::int64_t bytes = 0, runs = 0;
  std::int64_t begin = 0, end = 0;  // the span that holds it
  std::string hash;
  friend bool operator==(const RegionSummary&, const RegionSummary&) = default;
};
RegionSummary summarise(const Region& region);
/// "[0, 64)" or "3 runs, 192 B in [0, 640)".
std::string describe(const RegionSummary& region);

/// Who wrote last. Both empty: nobody since the storage was made. `node` empty: before this forward.
struct LastWriter {
  std::string op, node;
  friend bool operator==(const LastWriter&, const LastWriter&) = default;
};
std::string describe(const LastWriter& writer);

struct ContractNode {
  std::int64_t number = 0;  // in its segment
  std::string op, label;
  std::string kernel;                 // of the forward, where the op has a choice: "oneDNN Winograd: ..."
  std::vector<std::string> attrs;     // "stride_h=1"
  std::vector<std::string> operands;  // names of values, or of storages; "" for one left out
  std::vector<std::string> results;   // "f32[128, 32, 32, 16]"
  bool needed = false;                // a replay runs it
  std::string why;                    // why it is needed, or falls away
  friend bool operator==(const ContractNode&, const ContractNode&) = default;
};

/// One obligation: an operand of one node at one clock.
struct ContractRead {
  std::int64_t node = 0;
  std::string operand;
  std::string kind;     // "leaf", "state" or "value"
  std::string storage;  // its name, or that of the value
  std::string dtype;
  RegionSummary region;
  std::int64_t version = 0;  // writes of the storage before the read
  LastWriter writer;         // who made that version
  bool for_replay = false, for_formula = false;
  friend bool operator==(const ContractRead&, const ContractRead&) = default;
};

struct ContractDraw {
  std::int64_t node = 0;
  std::uint64_t seed = 0, stream = 0, position = 0, count = 0;
  friend bool operator==(const ContractDraw&, const ContractDraw&) = default;
};

/// A value whose bytes are kept, and for whom. Values that share bytes are one entry, under the first one's name.
struct KeptValue {
  std::string value, op, type;  // "#3", "conv2d", "f32[128, 32, 32, 16]"
  std::int64_t bytes = 0;       // as charged
  bool decision = false;        // never recomputed
  bool formula = false;         // a backward formula reads it
  bool replay = false;          // a replay reads it: of its own segment (it was at hand), or of a later one
  bool handle = false;          // the program holds it
  /// The first of these in the order above: so that sums by holder add up.
  const char* holder() const { return decision ? "decision" : formula ? "formula" : replay ? "replay" : "handle"; }
  friend bool operator==(const KeptValue&, const KeptValue&) = default;
};

/// What happens once, in forward, and never in a replay.
struct ContractEffect {
  std::int64_t node = 0;
  std::string op;
  std::string what;      // "write" (of an outside storage), "draw", "outside" (callback, collective)
  std::string storage;   // of a write
  RegionSummary region;  // of a write; bounds it where it depends on data
  friend bool operator==(const ContractEffect&, const ContractEffect&) = default;
};

struct ContextEntry {
  std::string key, value;
  friend bool operator==(const ContextEntry&, const ContextEntry&) = default;
};

struct ReplayContract {
  std::string segment;  // its id: "head", "head/2", "(outside)"
  std::int64_t micro_batch = 0;
  std::string values;  // "retain" or "replay"
  std::string state;   // "whole" or "region"
  std::vector<ContractNode> nodes;
  std::vector<ContractRead> reads;
  std::vector<ContractDraw> draws;
  std::vector<KeptValue> kept;
  std::vector<ContractEffect> effects;
  std::vector<ContextEntry> context;

  bool replayed() const { return values == "replay"; }
  std::int64_t needed_count() const;
  friend bool operator==(const ReplayContract&, const ReplayContract&) = default;
};

/// Bytes preserved so far: a copy of a storage, or a block of the bytes that one write killed.
struct PreservedObject {
  std::string storage;
  bool whole = false;
  std::int64_t data_bytes = 0, row_list_bytes = 0, charged_bytes = 0;
  LastWriter killer;
  std::vector<std::string> segments;  // that owe some of it, each once
  std::int64_t reads = 0;             // obligations that it serves
};

struct ContractSet {
  std::vector<ReplayContract> contracts;  // in the order of the forward
  std::vector<PreservedObject> preserved;
};

/// The contracts of all that `tape` holds: after the forward (no segment open), before the backward.
ContractSet read_contracts(Tape& tape, std::int64_t micro_batch = 0);

}  // namespace reprise
