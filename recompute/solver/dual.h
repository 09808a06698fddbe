// The relaxed problem: a price per byte in each row takes the place of the budget, and the price of each shared object
// is split among the variables that use it. Gives a lower bound for every plan under the budget, and the reduced cost
// of each option that guides and prunes the searches.
//
// Invariant: after sweep(), for every assignment x under the budget, bound() + the excess of its reduced costs over the
// smallest ones is at most its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recompute/solver/factors.h"
#include "recompute/solver/model.h"

namespace reprise::solver {

/// What is made small: the time under the budget, or (times ignored) the bytes above it.
enum class Objective { time, peak };

class Dual {
 public:
  Dual(const Model& model, Objective objective);

  const Model& model() const { return *model_; }

  /// Prices per byte of the kept rows named; all others are free.
  void set_prices(const std::vector<std::int32_t>& rows, const std::vector<double>& prices);

  /// Splits the price of every object anew, one after the other; never lowers the bound. Returns units of work.
  std::int64_t sweep();

  double bound() const;

  double cost(std::size_t variable, std::size_t option) const { return costs_[first_cost_[variable] + option]; }
  double least(std::size_t variable) const;
  /// Without the shares of objects.
  double own_cost(std::size_t variable, std::size_t option) const { return own_[first_cost_[variable] + option]; }
  double price(std::size_t object, std::int32_t level) const { return prices_[first_price_[object] + level]; }

  const Factors& factors() const { return factors_; }
  double share(const Slot& slot, int label) const { return splits_[slot.split + label]; }

  /// The splits as they are, to come back to.
  std::vector<double> splits() const { return splits_; }
  void restore(const std::vector<double>& splits);

 private:
  void price_tables();
  void renew_costs();
  void split(const Factor& factor);
  void find_thetas(const Factor& factor);
  void gather(const Factor& factor);
  void try_combinations(const Factor& factor);
  double best_with(const Factor& factor, int slot, int label) const;

  const Model* model_;
  Objective objective_;
  std::vector<double> cumulative_;        // prices of the rows before each row
  double budget_term_ = 0;                // sum of price * (base - budget)
  std::vector<std::int32_t> first_cost_;  // per variable
  std::vector<double> costs_, own_;
  Factors factors_;
  std::vector<std::int32_t> first_price_;  // per object: one per level, 0 included
  std::vector<double> prices_, splits_;
  std::vector<double> tables_;  // of factors with several members: the cost of each combination
  // Of the factor at hand: theta per label, best per slot, configuration and level, totals per configuration and level.
  std::vector<double> theta_, best_, total_;
  std::vector<std::int32_t> theta_at_;
  std::vector<double> shared_out_, with_label_;
};

}  // namespace reprise::solver
