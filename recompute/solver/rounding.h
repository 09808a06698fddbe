// From prices to a plan: the assignment that costs least when every byte of a row has its price and there is no budget.
//
// Called by the search for prices and by the repair of plans. Invariant: the priced cost never rises.
#pragma once

#include <cstdint>

#include "recompute/solver/dual.h"

namespace reprise::solver {

/// Every variable at its least reduced cost, the first where several are equal.
Assignment cheapest(const Dual& dual);

/// Single changes, and changes of all users of an object at once, while they lower the priced cost. Adds its work.
void improve_priced(const Dual& dual, Assignment& assignment, int passes, std::int64_t& work);

/// Priced cost of an assignment without the terms that no choice changes.
double priced_cost(const Dual& dual, const Assignment& assignment);

}  // namespace reprise::solver
