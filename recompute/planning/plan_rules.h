// What every plan keeps to, whoever wrote it: the rules that a plan can be held against alone, and those that need the
// step that it is for. Used by the reader of plans (plan_json.cpp) and by whoever is about to follow a stored one.
#pragma once

#include <string>

#include "recompute/planning/plan.h"

namespace reprise {

/// The first rule that `plan` breaks: options that its method allows, runs of at least two replayed neighbours whose
/// last one ends them, no class twice. "segments[2].run: expected ..., got ..."; empty where it keeps to all.
std::string broken_rule(const Plan& plan);

}  // namespace reprise
