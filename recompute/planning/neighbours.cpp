// Better plans near a plan that was walked: a faster one that fits too, and one that replays nothing for nothing.
#include <algorithm>
#include <optional>

#include "recompute/planning/planner.h"
#include "recompute/solver/domain.h"
#include "recompute/solver/evaluate.h"

namespace reprise {

namespace {

constexpr int kMostWalks = 40;  // of each search below
// A row that is thought to be over the peak by 1 / kNearPeak of it may still fit: blocks round and merge. A walk
// decides.
constexpr std::int64_t kNearPeak = 256;

/// Choices that differ from `choice` in one segment or one class, take less time than `time`, and might fit.
std::vector<std::pair<std::int64_t, solver::Choice>> faster_neighbours(const solver::Instance& instance,
                                                                       const solver::Choice& choice,
                                                                       const solver::Domain& domain, std::int64_t time,
                                                                       std::int64_t cap) {
  std::vector<std::pair<std::int64_t, solver::Choice>> faster;
  auto consider = [&](solver::Choice other) {
    solver::Evaluation evaluation = solver::evaluate(instance, other);
    if (evaluation.time_ns < time && evaluation.peak <= cap) faster.emplace_back(evaluation.time_ns, std::move(other));
  };
  for (std::size_t u = 0; u < choice.options.size(); ++u) {
    for (std::uint8_t o = 0; o < instance.segments[u].options.size(); ++o) {
      if (o == choice.options[u] || (domain.options[u] >> o & 1) == 0) continue;
      solver::Choice other = choice;
      other.options[u] = o;
      consider(std::move(other));
    }
  }
  for (std::size_t c = 0; c < choice.states.size(); ++c) {
    if (domain.states[c] != 3) continue;
    solver::Choice other = choice;
    bool whole = other.states[c] == solver::StateChoice::whole;
    other.states[c] = whole ? solver::StateChoice::region : solver::StateChoice::whole;
    consider(std::move(other));
  }
  std::stable_sort(faster.begin(), faster.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return faster;
}

}  // namespace

/// `best`, or a neighbour of it that is faster: one choice made otherwise, walked where it could fit.
Planner::Checked Planner::flipped(const Problem& problem, const PlannedMethod& method, MeasuredBytes& bytes,
                                  Checked best, std::int64_t cap) const {
  solver::Instance hopeful = problem.with(bytes.least);
  solver::Domain domain = solver::domain_of(hopeful, method.allowed);
  std::int64_t time = solver::evaluate(hopeful, best.choice).time_ns;
  int walks = 0;
  for (bool changed = true; changed && walks < kMostWalks;) {
    changed = false;
    for (auto& [faster, choice] : faster_neighbours(hopeful, best.choice, domain, time, cap)) {
      if (++walks > kMostWalks) break;
      Checked checked = check(problem, choice, method.fallback());
      problem.learn(bytes, checked.choice, checked.rows);
      if (checked.peak > cap) continue;
      best = std::move(checked);
      time = faster;
      changed = true;
      break;
    }
  }
  return best;
}

namespace {

/// The retaining option of a segment that is replayed and need not be, or none.
std::optional<std::uint8_t> instead_of_replay(const solver::Instance& instance, const solver::Domain& domain,
                                              std::size_t segment, std::uint8_t now) {
  const std::vector<solver::Option>& options = instance.segments[segment].options;
  if (options[now].retain) return std::nullopt;
  for (std::size_t o = 0; o < options.size(); ++o) {
    if (options[o].retain && (domain.options[segment] >> o & 1)) return static_cast<std::uint8_t>(o);
  }
  return std::nullopt;
}

}  // namespace

/// `best`, with each replayed segment retained that costs no byte of its peak, the first ones first. What a row is
/// thought to hold is corrected by what `best` was walked to hold there, but for the rows of the segment itself, where
/// the other option holds other bytes.
Planner::Checked Planner::with_idle_retained(const Problem& problem, const PlannedMethod& method, MeasuredBytes& bytes,
                                             Checked best) const {
  if (!method.allowed.retain) return best;
  solver::Instance hopeful = problem.with(bytes.least);
  solver::Domain domain = solver::domain_of(hopeful, method.allowed);
  solver::Evaluation now = solver::evaluate(hopeful, best.choice);
  auto may_fit = [&](std::uint32_t unit, const solver::Evaluation& then) {
    for (std::size_t row = 0; row < then.row_bytes.size(); ++row) {
      bool own = problem.rows()[static_cast<int>(row)].unit == unit;
      std::int64_t more = own ? 0 : std::max<std::int64_t>(0, best.rows[row] - now.row_bytes[row]);
      if (then.row_bytes[row] + more > best.peak + best.peak / kNearPeak) return false;
    }
    return then.time_ns <= now.time_ns;
  };
  int walks = 0;
  for (bool changed = true; changed && walks < kMostWalks;) {
    changed = false;
    for (std::uint32_t u = 0; u < best.choice.options.size() && walks < kMostWalks; ++u) {
      std::optional<std::uint8_t> retained = instead_of_replay(hopeful, domain, u, best.choice.options[u]);
      if (!retained) continue;
      solver::Choice other = best.choice;
      other.options[u] = *retained;
      solver::Evaluation then = solver::evaluate(hopeful, other);
      if (!may_fit(u, then)) continue;
      ++walks;
      Checked checked = check(problem, other, method.fallback());
      problem.learn(bytes, checked.choice, checked.rows);
      if (checked.peak > best.peak) continue;
      best = std::move(checked);
      now = std::move(then);
      changed = true;
    }
  }
  return best;
}

}  // namespace reprise
