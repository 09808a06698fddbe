// Every plan of a small step, walked: what the planner's answers are held against. And times of nodes that are made up,
// so that the same plans are best on every machine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "recompute/planning/planned_methods.h"
#include "recompute/planning/problem.h"
#include "recompute/solver/domain.h"
#include "recompute/solver/evaluate.h"

namespace reprise::testing {

/// Nodes that follow each other take different times; moving bytes costs something.
inline Profile made_up_profile(Walker& walker) {
  Profile profile;
  walker.look({}, [&](Tape& tape) {
    for (std::size_t n = 0; n < tape.data().nodes.size(); ++n)
      profile.forward_ns.push_back(1000 + static_cast<std::int64_t>(n) % 7 * 400);
  });
  profile.step_ns = 500000;
  profile.copy = {500, 0.1, 0};
  profile.gather = {800, 0.12, 3};
  profile.exchange = {300, 0.2, 3};
  return profile;
}

/// Every choice of a method.
inline std::vector<solver::Choice> all_choices(const solver::Instance& instance, const PlannedMethod& method) {
  solver::Domain domain = solver::domain_of(instance, method.allowed);
  std::vector<solver::Choice> choices{solver::first_choice(domain)};
  for (std::size_t u = 0; u < instance.segments.size(); ++u) {
    for (std::size_t i = 0, n = choices.size(); i < n; ++i) {
      for (std::uint8_t o = 0; o < instance.segments[u].options.size(); ++o) {
        solver::Choice other = choices[i];
        other.options[u] = o;
        if (solver::contains(domain, other) && o != choices[i].options[u]) choices.push_back(std::move(other));
      }
    }
  }
  for (std::size_t c = 0; c < instance.classes.size(); ++c) {
    for (std::size_t i = 0, n = choices.size(); i < n; ++i) {
      solver::Choice other = choices[i];
      other.states[c] = solver::StateChoice::region;
      if (solver::contains(domain, other) && choices[i].states[c] != solver::StateChoice::region)
        choices.push_back(std::move(other));
    }
  }
  return choices;
}

/// Peak as walked, and time, of every plan of a method in which segments are retained or replayed as wholes.
inline std::vector<std::pair<std::int64_t, std::int64_t>> all_plans(Walker& walker, const Profile& profile,
                                                                    const PlannedMethod& method) {
  Problem problem(walker, simple_space(walker), profile);
  std::vector<std::pair<std::int64_t, std::int64_t>> plans;
  for (const solver::Choice& choice : all_choices(problem.instance(), method)) {
    std::int64_t peak = walker.schedule(problem.assignment(choice, method.fallback())).peak.total_peak;
    plans.emplace_back(peak, solver::evaluate(problem.instance(), choice).time_ns);
  }
  return plans;
}

}  // namespace reprise::testing
