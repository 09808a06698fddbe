// An instance as an integer programme in CPLEX's LP format, and what Cbc says when it has solved one: an oracle from
// outside for tests and benches. Nothing in the solver uses it.
//
// The file has one binary per open option (x), one per undecided class (y), and a continuous variable per object and
// level (a). Bytes are written in their greatest common unit, so that tolerances stay below one of it.
#pragma once

#include <cstdint>
#include <string>

#include "recompute/solver/instance.h"

namespace reprise::solver {

/// Minimise the time under the budget.
std::string to_lp(const Instance& instance, std::int64_t budget, const Allowed& allowed);

struct CbcAnswer {
  bool optimal = false;     // proven
  bool infeasible = false;  // proven
  bool has_plan = false;
  double objective = 0;   // of its plan, ns
  double bound = -1e300;  // no plan takes less, as far as it got
};

/// Reads what `cbc FILE.lp -sec SECONDS -solve -quit` printed.
CbcAnswer read_cbc(const std::string& output);

}  // namespace reprise::solver
