#include "tools/frontier/measured_order.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "core/text.h"

namespace reprise {
namespace {

constexpr double kDiffers = 1.03;  // of predicted times: what is closer may come out either way

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

/// What each method's plan at `budget` took: that of its largest budget up to there. Null where it was not measured.
std::vector<const FrontierPoint*> measured_at(const Frontier& frontier, std::int64_t budget) {
  std::vector<const FrontierPoint*> all;
  for (const auto& [method, smallest] : frontier.smallest) {
    const FrontierPoint* own = nullptr;
    for (const FrontierPoint& point : frontier.points) {
      if (point.method == method && point.budget <= budget && (!own || point.budget > own->budget)) own = &point;
    }
    if (own) own = measured_like(frontier, *own);
    if (own) all.push_back(own);
  }
  return all;
}

std::string violation(std::int64_t budget, const FrontierPoint& fast, const FrontierPoint& slow) {
  return fmt::format("at {}: {} before {} was predicted ({:.2f} and {:.2f} ms), measured {:.2f} and {:.2f} ms",
                     short_bytes(budget), fast.method, slow.method, milliseconds(fast.plan.predicted_ns),
                     milliseconds(slow.plan.predicted_ns), milliseconds(fast.measured_ns),
                     milliseconds(slow.measured_ns));
}

}  // namespace

const FrontierPoint* measured_like(const Frontier& frontier, const FrontierPoint& point) {
  for (const FrontierPoint& other : frontier.points) {
    if (other.method == point.method && other.measured_ns > 0 && other.plan.predicted_ns == point.plan.predicted_ns &&
        other.plan.predicted_peak == point.plan.predicted_peak) {
      return &other;
    }
  }
  return nullptr;
}

MeasuredOrder measured_order(const Frontier& frontier) {
  std::set<std::int64_t> budgets;
  for (const FrontierPoint& point : frontier.points) {
    if (point.measured_ns > 0) budgets.insert(point.budget);
  }
  MeasuredOrder order;
  std::set<std::pair<const FrontierPoint*, const FrontierPoint*>> seen;
  for (std::int64_t budget : budgets) {
    std::vector<const FrontierPoint*> there = measured_at(frontier, budget);
    for (const FrontierPoint* fast : there) {
      for (const FrontierPoint* slow : there) {
        bool differs =
            static_cast<double>(slow->plan.predicted_ns) > kDiffers * static_cast<double>(fast->plan.predicted_ns);
        if (!differs || !seen.emplace(fast, slow).second) continue;
        ++order.pairs;
        if (fast->measured_ns < slow->measured_ns) {
          ++order.kept;
        } else {
          order.violations.push_back(violation(budget, *fast, *slow));
        }
      }
    }
  }
  return order;
}

}  // namespace reprise
