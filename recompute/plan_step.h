// Making a schedule: the step is traced dry twice. The first pass finds which reads anything will need; the second runs
// as the real one will, owing just those, and takes down every memory event.
//
// Note: why twice. Which nodes a replay needs is known only when the segment has closed, and a write may break an
// obligation before that. Considered: one pass and a simulation of the preserver; dropped, because two pieces of code
// would then have to agree, where now one runs twice. It would be wrong where a host decision depends on data: then the
// real step departs from the schedule, and says so.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/schedule.h"
#include "autograd/tape.h"

namespace reprise {

/// A step in general: `step` records and differentiates on `tapes`, which are of one dry memory, in any order: several
/// forwards before a backward, several backwards, with `keep` or not. It is called twice and must start from the same
/// host state each time; writes of host code go through the doors of storages. One schedule per tape, in which each has
/// its own backwards; the peak of the step is the highest of theirs. In the real step all tapes follow theirs before
/// the first node is recorded. `choices`: per tape what a plan says of each node, or empty.
/// Errors (user): the two calls differ; those of recording and differentiating.
std::vector<Schedule> make_schedules(std::span<Tape* const> tapes, const std::function<void()>& step,
                                     std::vector<std::vector<NodeChoice>> choices = {});

/// One pass of `step` on `dry`, in which every backward keeps what it uses; then `look` is called with all nodes of the
/// step on the tape, none of them consumed. Errors: as of make_schedules().
void look_at_step(Tape& dry, const std::function<void()>& step, std::vector<NodeChoice> choices,
                  const std::function<void()>& look);

/// The usual one: `forward` records the forward of one step on `dry` and returns what is differentiated; it is called
/// twice and must start from the same host state each time. `dry` is an empty tape on memory without bytes, with policy
/// and replayer. `choices` is what a plan says of each node, or empty. `between`, if any, is called in the second pass
/// between forward and backward.
Schedule make_schedule(Tape& dry, const std::function<Value()>& forward, std::vector<NodeChoice> choices = {},
                       const std::function<void()>& between = nullptr);

}  // namespace reprise
