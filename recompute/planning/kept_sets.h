// Kept sets: for a replayed segment, which results of its nodes are worth keeping: those that are dear to recompute and
// small to hold, such as a convolution's output next to its batch norm and relu. Each set becomes one more option of
// the segment (granularity `node`).
#pragma once

#include "recompute/planning/problem.h"

namespace reprise {

/// simple_space() with up to `most` nested kept sets per segment: each step keeps the value that saves the most replay
/// time per byte, given those kept already, until hardly anything is left to replay.
PlanSpace space_with_kept_values(Walker& walker, const Profile& profile, int most = 6);

}  // namespace reprise
