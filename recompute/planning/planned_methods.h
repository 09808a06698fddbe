// The seven methods that a planner knows: which options each may use, and which of them contain which.
//
// Used by the planner, the trainer and the verbs. The narrow ones come first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/node.h"
#include "recompute/solver/instance.h"

namespace reprise {

struct PlannedMethod {
  std::string name;
  solver::Allowed allowed;

  /// `retain`, `whole` and `region` leave nothing to choose.
  bool is_one_plan() const { return allowed.retain + allowed.whole + allowed.region < 2; }
  /// Of state that no class names.
  StateOption fallback() const { return allowed.region ? StateOption::region : StateOption::whole; }
  /// Whether every plan of `narrow` is one of this method too, and not the other way round.
  bool contains(const PlannedMethod& narrow) const;
};

std::span<const PlannedMethod> planned_methods();

/// Errors (user): no method of that name; the text lists those there are.
const PlannedMethod& planned_method(const std::string& name);

/// "retain+region" and so on: the options that a method may use. Null for a name that is no method.
std::optional<solver::Allowed> allowed_by(const std::string& method);

/// The names of the seven.
const std::vector<std::string>& plannable_methods();
/// What recompute.method may be: the seven, then the negative control `unchecked`.
const std::vector<std::string>& all_methods();
/// Whether the method chooses between options. The others are fixed: each of them has one plan, or needs none.
bool is_planned(const std::string& method);

}  // namespace reprise
