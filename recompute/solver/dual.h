// The relaxed problem: a price per byte in each row takes the place of the budget, and the price of each shared object
// is split among the variables that use it. Gives a lower bound for every plan under the budget, and the reduced cost
// of each option that guides and prunes the searches.
//
// Invariant: after sweep(), for every assignment x under the budget, bound() + the excess of its reduced costs over the
// smallest ones is at most its time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "recompute/solver/model.h"

namespace reprise::solver {

/// What is made small: the time under the budget, or (times ignored) the bytes above it.
enum class Objective { time, peak };

constexpr int kMostClasses = 2;  // whose states are told apart in one object; others only loosen the bound

/// A variable's part in a shared object. Options that lift the object alike have one label.
struct Slot {
  std::int32_t variable = 0;
  std::int32_t labels = 0;
  std::int32_t split = 0;        // into the splits: one per label
  std::int32_t label_of = 0;     // into label_of_option: one per option
  std::int32_t level = 0;        // into levels: configuration * labels + label
};

struct Factor {
  std::int32_t first_slot = 0, slots = 0;   // segments first, in order
  std::int32_t class_slots = 0;             // the last ones
  std::array<std::int32_t, 4> floor{};      // per configuration: the level that the classes alone give
  std::int32_t price = 0;                   // into prices: one per level, 0 included
  std::int32_t levels = 0;                  // above 0
};

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
  double price(std::size_t object, std::int32_t level) const { return prices_[factors_[object].price + level]; }

  const Factor& factor(std::size_t object) const { return factors_[object]; }
  const Slot& slot(std::size_t index) const { return slots_[index]; }
  int label(const Slot& slot, std::size_t option) const { return label_of_option_[slot.label_of + option]; }
  int level(const Slot& slot, int configuration, int label) const {
    return levels_[slot.level + configuration * slot.labels + label];
  }
  double share(const Slot& slot, int label) const { return splits_[slot.split + label]; }

  /// The splits as they are, to come back to.
  std::vector<double> splits() const { return splits_; }
  void restore(const std::vector<double>& splits);

 private:
  void add_factor(const SharedObject& object);
  void add_segment_slot(const SharedObject& object, std::int32_t variable, const std::vector<std::int32_t>& classes);
  void renew_costs();
  void split(const Factor& factor);
  void gather(const Factor& factor);
  double best_with(const Factor& factor, int slot, int label) const;

  const Model* model_;
  Objective objective_;
  std::vector<double> cumulative_;            // prices of the rows before each row
  double budget_term_ = 0;                    // sum of price * (base - budget)
  std::vector<std::int32_t> first_cost_;      // per variable
  std::vector<double> costs_, own_;
  std::vector<Factor> factors_;
  std::vector<Slot> slots_;
  std::vector<double> prices_, splits_;
  std::vector<std::uint8_t> label_of_option_;
  std::vector<std::int32_t> levels_;
  // Of the factor at hand: theta per label, best per slot, configuration and level, totals per configuration and level.
  std::vector<double> theta_, best_, total_;
  std::vector<std::int32_t> theta_at_;
  std::vector<double> shared_out_;
};

}  // namespace reprise::solver
