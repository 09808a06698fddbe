#include "tests/recompute/solver/brute_force.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/error.h"
#include "recompute/solver/domain.h"

namespace reprise::solver {
namespace {

/// The next choice of a domain in the order of an odometer; false after the last.
bool advance(const Instance& instance, const Domain& domain, Choice& choice) {
  for (std::size_t i = 0; i < choice.options.size(); ++i) {
    for (std::size_t o = choice.options[i] + 1U; o < instance.segments[i].options.size(); ++o) {
      if (((domain.options[i] >> o) & 1U) == 0) continue;
      choice.options[i] = static_cast<std::uint8_t>(o);
      return true;
    }
    choice.options[i] = static_cast<std::uint8_t>(std::countr_zero(domain.options[i]));
  }
  for (std::size_t c = 0; c < choice.states.size(); ++c) {
    if (choice.states[c] == StateChoice::whole && (domain.states[c] & 2U) != 0) {
      choice.states[c] = StateChoice::region;
      return true;
    }
    if ((domain.states[c] & 1U) != 0) choice.states[c] = StateChoice::whole;
  }
  return false;
}

std::int64_t replays(const Instance& instance, const Choice& choice) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < choice.options.size(); ++i) {
    if (!instance.segments[i].options[choice.options[i]].retain) ++count;
  }
  return count;
}

}  // namespace

std::int64_t plan_count(const Instance& instance, const Allowed& allowed) {
  Domain domain = domain_of(instance, allowed);
  std::int64_t count = 1;
  for (std::uint64_t options : domain.options) count = std::min(kMostPlans + 1, count * std::popcount(options));
  for (std::uint8_t states : domain.states) count = std::min(kMostPlans + 1, count * std::popcount(states));
  return count;
}

BruteForce brute_force(const Instance& instance, std::int64_t budget, const Allowed& allowed) {
  if (plan_count(instance, allowed) > kMostPlans) {
    fail(ErrorKind::user, "[planner] expected at most {} plans to try one by one, got more.", kMostPlans);
  }
  Domain domain = domain_of(instance, allowed);
  Choice choice = first_choice(domain);
  BruteForce best;
  best.smallest_peak = INT64_MAX;
  do {
    Evaluation evaluation = evaluate(instance, choice);
    best.smallest_peak = std::min(best.smallest_peak, evaluation.peak);
    if (evaluation.peak > budget) continue;
    auto rank = std::tuple(evaluation.time_ns, evaluation.peak, replays(instance, choice));
    if (best.feasible && rank >= std::tuple(best.time_ns, best.peak, replays(instance, best.choice))) continue;
    best.feasible = true;
    best.choice = choice;
    best.time_ns = evaluation.time_ns;
    best.peak = evaluation.peak;
  } while (advance(instance, domain, choice));
  return best;
}

}  // namespace reprise::solver
