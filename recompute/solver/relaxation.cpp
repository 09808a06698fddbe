#include "recompute/solver/relaxation.h"

#include <algorithm>
#include <cmath>

#include "recompute/solver/master.h"
#include "recompute/solver/rounding.h"

namespace reprise::solver {
namespace {

constexpr double kHighestPrice = 1e5;  // of all rows together, in units of all time per whole budget

class Search {
 public:
  Search(Dual& dual, Objective objective, const RelaxLimits& limits, std::int64_t& work)
      : dual_(dual), model_(dual.model()), objective_(objective), limits_(limits), work_(work), start_(work) {
    bytes_unit_ = std::max<double>(1, static_cast<double>(model_.budget));
    time_unit_ = objective == Objective::peak ? bytes_unit_ : 1 + time_range();
    result_.bound = -1e300;
  }

  Relaxation run(const std::vector<Assignment>& seeds) {
    dual_.set_prices({}, {});
    tighten(limits_.sweeps);
    keep_best();
    for (const Assignment& seed : seeds) add_plan(seed);
    Assignment free = cheapest(dual_);
    improve_priced(dual_, free, 4, work_);
    add_plan(free);
    if (model_.rows() > 0 && !enough()) search();
    finish();
    return std::move(result_);
  }

 private:
  double time_range() const {
    double range = 0;
    for (const Variable& variable : model_.variables) {
      std::int64_t low = variable.options.front().time, high = low;
      for (const ModelOption& option : variable.options) {
        low = std::min(low, option.time);
        high = std::max(high, option.time);
      }
      range += static_cast<double>(high - low);
    }
    for (const SharedObject& object : model_.objects) range += static_cast<double>(object.time);
    return range;
  }

  bool enough() const { return result_.bound >= limits_.enough; }

  bool out_of_work() const { return limits_.work > 0 && work_ - start_ > limits_.work; }

  double excess(const Load& load, std::int32_t row) const {
    return static_cast<double>(load.rows[row] - model_.budget) / bytes_unit_;
  }

  void add_plan(const Assignment& plan) {
    Load load = load_of(model_, plan);
    work_ += static_cast<std::int64_t>(model_.variables.size() + model_.base.size() / 4);
    Column column;
    if (objective_ == Objective::time) column.cost = static_cast<double>(load.time - model_.base_time) / time_unit_;
    for (std::int32_t row : result_.rows) column.excess.push_back(excess(load, row));
    columns_.push_back(std::move(column));
    result_.plans.push_back(plan);
  }

  /// The row that the mixture of plans exceeds most, if it has no price yet.
  bool add_row(const MasterResult& master) {
    if (result_.rows.size() >= limits_.rows) return false;
    std::vector<double> mixed(model_.base.size(), 0);
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      if (master.weights[j] <= 0) continue;
      Load load = load_of(model_, result_.plans[j]);
      for (std::size_t t = 0; t < mixed.size(); ++t) {
        mixed[t] += master.weights[j] * static_cast<double>(load.rows[t] - model_.budget);
      }
    }
    auto worst = std::max_element(mixed.begin(), mixed.end());
    auto row = static_cast<std::int32_t>(worst - mixed.begin());
    bool known = std::find(result_.rows.begin(), result_.rows.end(), row) != result_.rows.end();
    if (known || (*worst <= 1e-7 * bytes_unit_ && !(objective_ == Objective::peak && result_.rows.empty())))
      return false;
    result_.rows.push_back(row);
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      columns_[j].excess.push_back(excess(load_of(model_, result_.plans[j]), row));
    }
    work_ += static_cast<std::int64_t>(columns_.size() * (model_.variables.size() + model_.base.size() / 4));
    return true;
  }

  void search() {
    for (int round = 0; round < limits_.rounds && !out_of_work(); ++round) {
      MasterResult master = solve_master(columns_, objective_ == Objective::peak ? 1 : kHighestPrice);
      while (add_row(master)) master = solve_master(columns_, objective_ == Objective::peak ? 1 : kHighestPrice);
      prices_.clear();
      for (double price : master.prices) prices_.push_back(price * time_unit_ / bytes_unit_);
      dual_.set_prices(result_.rows, prices_);
      tighten(limits_.sweeps);
      keep_best();
      if (enough()) return;
      Assignment plan = cheapest(dual_);
      improve_priced(dual_, plan, 4, work_);
      improve_heaviest(master, plan);
      double least = value(plan);
      add_plan(plan);
      double ceiling = master.value * time_unit_;
      if (least >= ceiling - 1e-7 * std::max(1.0, std::abs(ceiling))) break;
    }
  }

  /// Starting from the plan with most weight finds cheaper ones where objects tie many variables together.
  void improve_heaviest(const MasterResult& master, Assignment& plan) {
    if (model_.objects.empty()) return;
    auto heaviest = std::max_element(master.weights.begin(), master.weights.end()) - master.weights.begin();
    Assignment other = result_.plans[heaviest];
    improve_priced(dual_, other, 4, work_);
    if (priced_cost(dual_, other) < priced_cost(dual_, plan)) plan = std::move(other);
  }

  /// Priced cost of a plan in the units of the master's value (its time without the base).
  double value(const Assignment& plan) const {
    double value = priced_cost(dual_, plan);
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      value += prices_[i] * static_cast<double>(model_.base[result_.rows[i]] - model_.budget);
    }
    return value;
  }

  void tighten(int sweeps) {
    if (model_.objects.empty()) return;
    double before = -1e300;
    for (int i = 0; i < sweeps; ++i) {
      work_ += dual_.sweep();
      double now = dual_.bound();
      if (now - before < 1e-6 * time_unit_ || now >= limits_.enough) return;
      before = now;
    }
  }

  void keep_best() {
    double bound = dual_.bound();
    if (bound <= result_.bound) return;
    result_.bound = bound;
    best_rows_ = result_.rows;
    result_.prices = prices_;
    result_.splits = dual_.splits();
  }

  void finish() {
    result_.rows = best_rows_;
    dual_.set_prices(result_.rows, result_.prices);
    dual_.restore(result_.splits);
    double before = result_.bound;
    for (int i = 0; i < limits_.last_sweeps && !model_.objects.empty() && !out_of_work() && !enough(); ++i) {
      work_ += dual_.sweep();
      if (i % 4 != 3) continue;
      double now = dual_.bound();
      if (now - before < 1e-8 * time_unit_ || now >= limits_.enough) break;
      before = now;
    }
    result_.bound = dual_.bound();
    result_.splits = dual_.splits();
  }

  Dual& dual_;
  const Model& model_;
  Objective objective_;
  RelaxLimits limits_;
  std::int64_t& work_;
  std::int64_t start_;
  double bytes_unit_ = 1, time_unit_ = 1;
  std::vector<double> prices_;
  std::vector<Column> columns_;
  std::vector<std::int32_t> best_rows_;
  Relaxation result_;
};

}  // namespace

Relaxation relax(Dual& dual, Objective objective, const std::vector<Assignment>& seeds, const RelaxLimits& limits,
                 std::int64_t& work) {
  return Search(dual, objective, limits, work).run(seeds);
}

}  // namespace reprise::solver
