// Properties of random programs: how many are tried, how they are made, and what is printed where one fails.
// Called by the tests of random programs and of random steps.
#pragma once

#include <fmt/core.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <iostream>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/recompute/random_program.h"

namespace reprise::testing {

/// How many programs: 2,000 as a rule, fewer under sanitizers, more in a full run.
inline int program_count() {
  if (std::getenv("REPRISE_SOAK")) return 200000;
  if (std::getenv("REPRISE_FULL")) return 10000;
  const char* scale = std::getenv("REPRISE_RANDOM_SCALE");
  return static_cast<int>(2000 * (scale ? std::atof(scale) : 1.0));
}

/// Checks a property on `count` programs from `seed`; what fails is shrunk and printed.
template <class Property>
bool holds(const char* what, std::uint64_t seed, int count, Property&& property) {
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = what;
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = count;
  fmt::print("seed {}, {} programs: {}\n", seed, count, what);
  rc::detail::TestResult result = rc::detail::checkTestable(std::forward<Property>(property), metadata, params);
  rc::detail::printResultMessage(result, std::cerr);
  return result.is<rc::detail::SuccessResult>();
}

inline auto any_instruction() {
  auto byte = rc::gen::resize(100, rc::gen::inRange<int>(0, 256));
  return rc::gen::map(rc::gen::tuple(byte, byte, byte, byte), [](const std::tuple<int, int, int, int>& b) {
    auto [what, x, y, z] = b;
    return Instruction{static_cast<std::uint8_t>(what), static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y),
                       static_cast<std::uint8_t>(z)};
  });
}

/// Of `least` to `most` - 1 instructions.
inline auto any_program(std::size_t least, std::size_t most) {
  return rc::gen::mapcat(rc::gen::inRange(least, most), [](std::size_t length) {
    return rc::gen::container<std::vector<Instruction>>(length, any_instruction());
  });
}

inline auto any_step() {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(2, 7), [](std::size_t length) {
    auto part = rc::gen::map(rc::gen::pair(any_program(3, 13), any_instruction()),
                             [](std::pair<std::vector<Instruction>, Instruction> both) {
                               return StepPart{std::move(both.first), both.second};
                             });
    return rc::gen::container<std::vector<StepPart>>(length, part);
  });
}

}  // namespace reprise::testing
