// Walk: one dry step under an assignment, looked at closely: its rows, the highest level of live bytes in each, who
// keeps which value and owes which read until which row, and what runs again.
//
// Everything the planner knows of memory comes from walks: the same tape, engine and preserver that then run the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "recompute/plan_step.h"
#include "recompute/planning/assignment.h"
#include "recompute/planning/step_rows.h"

namespace reprise {

/// A unit that owes something until a row of the step.
struct WalkedUser {
  std::uint32_t unit = 0;
  int last_row = 0;
};

/// A value whose bytes stay for a backward; views of it count as it.
struct WalkedValue {
  ValueId value = kNoValue;       // the root of the chain that shares its bytes
  std::int64_t charged = 0;       // bytes
  std::uint32_t node = 0;         // that made it
  int forward_end = 0;            // the last row of a forward in which it is there even if nobody owes it
  std::vector<WalkedUser> users;  // that owe it, by unit
};

/// Bytes of state, or of a value that is overwritten later, which a unit owes at the version that was read.
struct WalkedRead {
  std::uint32_t node = 0;       // that read it; of a value: that made it
  int operand = -1;             // negative: result -1 - operand of the node
  std::uint32_t unit = 0;       // that owes it
  std::uint64_t storage = 0;    // serial number
  int last_row = 0;             // in which it is owed
  std::uint32_t nodes = kNone;  // recorded while it was owed: only their writes can break it
  friend auto operator<=>(const WalkedRead&, const WalkedRead&) = default;
};

struct Walk {
  bool exact = true;                                 // no region follows from data
  std::int64_t peak = 0;                             // highest live bytes of the step, over the host states looked at
  StepRows rows;                                     // the same under every assignment
  std::vector<std::int64_t> row_peaks;               // as the peak, in each row
  std::vector<WalkedValue> values;                   // in order of `value`
  std::vector<WalkedRead> reads;                     // sorted
  std::vector<std::uint32_t> replays;                // per node: how often it is run again
  std::vector<std::vector<std::uint32_t>> needed;    // per explicit segment: nodes that a replay runs,
  std::vector<std::vector<std::uint32_t>> restored;  // and nodes that restoring its run runs besides
};

/// The states of the host in which a step may begin, such as places of a ring's pointer: other regions are read and
/// written in each, so that the same plan may hold other bytes.
struct HostStates {
  std::size_t count = 1;
  std::function<void(std::size_t)> begin;  // makes the next forward start in that state; null where there is one
};

/// A dry tape that can be walked again and again. What it records starts from the same host state each time.
class Walker {
 public:
  /// The usual step: `forward` records one forward and returns what is differentiated.
  /// `tape` is an empty tape on memory without bytes, with a replayer; its policy becomes the walker's.
  Walker(Tape& tape, std::function<Value()> forward, HostStates states = {});
  /// A step in general: `step` records on the tape and differentiates there, in any order: several forwards before a
  /// backward, several backwards, with `keep` or not, as make_schedules() takes it.
  static Walker of_step(Tape& tape, std::function<void()> step, HostStates states = {});
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  /// In the first host state. Errors: those of recording and differentiating; (user) the step records nothing.
  const Walk& walk(const Assignment& assignment);
  /// In all host states: the peak is the highest of them, and row peaks are at least those of the first and of the
  /// highest.
  const Walk& walk_all(const Assignment& assignment);
  /// Only the schedule: what the step will do under `assignment`, with its peak.
  Schedule schedule(const Assignment& assignment);
  /// Calls `look` with a tape that holds all nodes of the step under `assignment`, none of them consumed: between
  /// forward and backward, or after a step in general whose backwards have all kept what they used.
  void look(const Assignment& assignment, const std::function<void(Tape&)>& look);
  /// How many assignments were walked so far: what planning costs, mostly.
  std::size_t walked() const { return walks_.size(); }
  /// Live bytes before the step.
  std::int64_t base() const { return base_; }

 private:
  using Key = std::vector<std::uint64_t>;
  struct General {
    std::function<void()> step;
  };

  Walker(Tape& tape, General general, HostStates states);
  static Key key_of(const Assignment& assignment);
  Walk walk_once(const Assignment& assignment);
  Schedule trace(const Assignment& assignment, const std::function<void()>& at_end);
  void record_and_differentiate();

  Tape& tape_;
  std::function<Value()> forward_;  // null: the step is general_
  General general_;
  HostStates states_;
  std::map<Key, Walk> walks_, walks_of_all_;  // made so far
  AssignmentPolicy policy_;
  std::int64_t base_ = 0;
};

}  // namespace reprise
