// The best row prices for a handful of known plans: a small linear programme, solved by the simplex method.
//
// Called by the search for prices. Invariant: prices are not negative and sum to at most the cap, and the value is the
// greatest that the least priced plan can reach.
#pragma once

#include <vector>

namespace reprise::solver {

/// A plan as the programme sees it: its cost, and by how much it exceeds the budget in each priced row.
struct Column {
  double cost = 0;
  std::vector<double> excess;
};

struct MasterResult {
  double value = 0;
  std::vector<double> prices;   // per row
  std::vector<double> weights;  // per column: the mixture of plans that meets the budget on average
};

/// Maximises min over columns of cost + sum of price * excess, prices >= 0, sum of prices <= cap.
MasterResult solve_master(const std::vector<Column>& columns, double cap);

}  // namespace reprise::solver
