// Making a schedule: the step is traced dry twice. The first pass finds which reads anything will need; the second runs
// as the real one will, owing just those, and takes down every memory event.
//
// Note: why twice. Which nodes a replay needs is known only when the segment has closed, and a write may break an
// obligation before that. Considered: one pass and a simulation of the preserver; dropped, because two pieces of code
// would then have to agree, where now one runs twice. It would be wrong where a host decision depends on data: then the
// real step departs from the schedule, and says so.
#pragma once

#include <functional>

#include "autograd/schedule.h"
#include "autograd/tape.h"

namespace reprise {

/// `forward` records the forward of one step on `dry` and returns what is differentiated; it is called twice and must
/// start from the same host state each time. `dry` is an empty tape on memory without bytes, with policy and replayer.
/// `choices` is what a plan says of each node, or empty. `between`, if any, is called in the second pass between
/// forward and backward.
Schedule make_schedule(Tape& dry, const std::function<Value()>& forward, std::vector<NodeChoice> choices = {},
                       const std::function<void()>& between = nullptr);

}  // namespace reprise
