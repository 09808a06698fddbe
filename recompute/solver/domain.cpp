#include "recompute/solver/domain.h"

#include <bit>

namespace reprise::solver {

Domain domain_of(const Instance& instance, const Allowed& allowed) {
  Domain domain;
  domain.options.reserve(instance.segments.size());
  bool replay = allowed.whole || allowed.region;
  for (const Segment& segment : instance.segments) {
    std::uint64_t all = 0, permitted = 0;
    for (std::size_t o = 0; o < segment.options.size(); ++o) {
      all |= std::uint64_t{1} << o;
      if (segment.options[o].retain ? allowed.retain : replay) permitted |= std::uint64_t{1} << o;
    }
    domain.options.push_back(permitted != 0 ? permitted : all);
  }
  auto states = static_cast<std::uint8_t>((allowed.whole ? 1 : 0) | (allowed.region ? 2 : 0));
  domain.states.assign(instance.classes.size(), states != 0 ? states : std::uint8_t{1});
  return domain;
}

bool contains(const Domain& domain, const Choice& choice) {
  for (std::size_t i = 0; i < domain.options.size(); ++i) {
    if (((domain.options[i] >> choice.options[i]) & 1U) == 0) return false;
  }
  for (std::size_t c = 0; c < domain.states.size(); ++c) {
    if (((domain.states[c] >> static_cast<int>(choice.states[c])) & 1U) == 0) return false;
  }
  return true;
}

Domain only(const Choice& choice) {
  Domain domain;
  for (std::uint8_t option : choice.options) domain.options.push_back(std::uint64_t{1} << option);
  for (StateChoice state : choice.states)
    domain.states.push_back(static_cast<std::uint8_t>(1U << static_cast<int>(state)));
  return domain;
}

Choice first_choice(const Domain& domain) {
  Choice choice;
  for (std::uint64_t options : domain.options) {
    choice.options.push_back(static_cast<std::uint8_t>(std::countr_zero(options)));
  }
  for (std::uint8_t states : domain.states) {
    choice.states.push_back((states & 1U) != 0 ? StateChoice::whole : StateChoice::region);
  }
  return choice;
}

}  // namespace reprise::solver
