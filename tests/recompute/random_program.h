// Random stateful programs for property tests: a list of small instructions, each four bytes, any list being a valid
// program. So a generator of bytes makes programs and a shrinker of lists shrinks them. run_program() executes one
// under a method and gives every byte that must not depend on the method.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "recompute/methods.h"

namespace reprise::testing {

using Instruction = std::array<std::uint8_t, 4>;  // what, and three operands

/// Equal where all bytes are: zeros of either sign differ, and a NaN equals itself.
struct Numbers {
  std::vector<double> values;
  friend bool operator==(const Numbers& a, const Numbers& b) {
    auto same = [](double x, double y) { return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y); };
    return std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same);
  }
  friend std::ostream& operator<<(std::ostream& to, const Numbers& numbers) {
    for (double value : numbers.values) to << value << " ";
    return to;
  }
};

struct Outcome {
  Numbers gradients;  // of all leaves
  Numbers states;     // all buffers
  std::vector<std::uint64_t> streams;
  std::vector<int> effects;     // log of hooks
  std::string changed;          // what a backward has changed that no hook wrote; empty where nothing was
  std::int64_t leaked = 0;      // live bytes after the step minus before
  std::int64_t left = 0;        // live bytes when everything has been freed
  std::int64_t reads_left = 0;  // obligations after the tape is gone
  int replays = 0;
  friend bool operator==(const Outcome& a, const Outcome& b) {
    return a.gradients == b.gradients && a.states == b.states && a.streams == b.streams && a.effects == b.effects;
  }
};

/// `segments` false: segment instructions are ignored, the plain program.
Outcome run_program(const std::vector<Instruction>& program, Method method, std::uint64_t seed, bool segments = true);

/// One backward of the program's last value, planned: dry walks, a choice drawn from `seed` (options, kept values and
/// states of each class), the schedule, and the real step that follows it. Second backwards are left out, and of two
/// programs in three hooks: the peak of a step with hooks is not known before.
struct PlannedOutcome {
  bool differentiates = false;                // else the rest is empty
  bool exact = false;                         // no row that is read or written follows from data
  bool foreseen = false;                      // nothing has written that the schedule does not tell of
  std::int64_t predicted_peak = 0, peak = 0;  // bytes
  std::int64_t thought_peak = 0;              // what the solver's problem says of the choice
  Numbers gradients, expected;                // planned, and without segments
  Numbers states, expected_states;
  std::vector<int> effects, expected_effects;
  std::string changed;  // as in Outcome
  std::int64_t leaked = 0, left = 0;
};
PlannedOutcome run_planned(const std::vector<Instruction>& program, std::uint64_t seed);

std::string describe(const std::vector<Instruction>& program);

/// One part of a step of several forwards and backwards: instructions on the tape in use, mostly in segments of their
/// own, then a turn: the forward is
/// put aside and another begins, on the same tape or a second one of the same memory; or it is differentiated, to go on
/// or to end; or one that was put aside is; or host code writes a state.
struct StepPart {
  std::vector<Instruction> body;
  Instruction turn{};
};
std::string describe(const std::vector<StepPart>& step);

/// Such a step, under options, kept results, two-level runs and states drawn from `seed` for each tape. All that was
/// put aside is differentiated in the end.
struct StepOutcome {
  int backwards = 0;                          // of which the plan tells
  int kept = 0;                               // of these: with keep
  int waiting = 0;                            // forwards that were put aside before others were differentiated
  int tapes = 0;                              // that have a backward
  int replays = 0;                            // of the planned run
  bool exact = false;                         // no row that is read or written follows from data
  bool foreseen = false;                      // nothing has written that the schedules do not tell of
  bool followed = false;                      // all tapes were on their schedules to the end
  std::int64_t predicted_peak = 0, peak = 0;  // bytes
  Numbers gradients, expected;                // planned, and without segments and schedules
  Numbers states, expected_states;
  std::uint64_t stream = 0, expected_stream = 0;
  std::vector<int> effects, expected_effects;
  std::string changed;  // as in Outcome
  std::int64_t leaked = 0, left = 0, reads_left = 0;
};
StepOutcome run_planned_step(const std::vector<StepPart>& step, std::uint64_t seed);

}  // namespace reprise::testing
