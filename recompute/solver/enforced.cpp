#include "recompute/solver/enforced.h"

#include <algorithm>
#include <numeric>

namespace reprise::solver {
namespace {

constexpr std::size_t kWidest = 12;  // numbers per partial plan with which all rows are enforced at once
constexpr std::int32_t kMostRows = 6000;

/// Adds the worst row of each stretch of rows over the budget; false if there is none that is not enforced already.
bool add_exceeded(const Model& model, const Assignment& plan, std::vector<std::int32_t>& rows) {
  Load load = load_of(model, plan);
  std::int32_t worst = -1;
  std::vector<std::int32_t> added;
  for (std::int32_t t = 0; t <= model.rows(); ++t) {
    bool over = t < model.rows() && load.rows[t] > model.budget;
    if (over && (worst < 0 || load.rows[t] > load.rows[worst])) worst = t;
    if (!over && worst >= 0) {
      added.push_back(worst);
      worst = -1;
    }
  }
  rows.insert(rows.end(), added.begin(), added.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return !added.empty();
}

}  // namespace

EnforcedResult run_enforced(const Dual& dual, Objective objective, std::vector<std::int32_t> rows,
                            const DynamicLimits& limits, std::int64_t& work) {
  const Model& model = dual.model();
  std::vector<std::int32_t> all(model.base.size());
  std::iota(all.begin(), all.end(), 0);
  std::sort(rows.begin(), rows.end());
  if (model.rows() <= kMostRows && width_of(model, all) <= kWidest) rows = all;
  EnforcedResult result;
  std::int64_t start = work;
  for (;;) {
    DynamicLimits left = limits;
    if (limits.work > 0) left.work = std::max<std::int64_t>(1, limits.work - (work - start));
    DynamicResult found = run_dynamic(dual, objective, rows, left, work);
    result.dropped = found.dropped;
    if (!found.found) return result;
    if (!add_exceeded(model, found.plan, rows)) {
      result.found = true;
      result.plan = found.plan;
      result.time = found.time;
      return result;
    }
    if (limits.work > 0 && work - start > limits.work) {
      // The plan does not count, so its own bound is all that is known of what it stood for.
      result.dropped = std::min(result.dropped, dual.bound());
      return result;
    }
  }
}

}  // namespace reprise::solver
