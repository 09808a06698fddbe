#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "tests/recompute/random_program.h"

namespace reprise::testing {
namespace {

TEST(RandomPrograms, AreComparedByTheirBytes) {
  EXPECT_EQ((Numbers{{1.0, NAN}}), (Numbers{{1.0, NAN}}));
  EXPECT_FALSE((Numbers{{0.0}}) == (Numbers{{-0.0}}));
  EXPECT_FALSE((Numbers{{1.0}}) == (Numbers{{1.0, 1.0}}));
}

/// How many programs: 2,000 as a rule, fewer under sanitizers, more in a full run.
int program_count() {
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

auto any_program() {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(12, 61), [](std::size_t length) {
    auto byte = rc::gen::resize(100, rc::gen::inRange<int>(0, 256));
    auto instruction =
        rc::gen::map(rc::gen::tuple(byte, byte, byte, byte), [](const std::tuple<int, int, int, int>& b) {
          auto [what, x, y, z] = b;
          return Instruction{static_cast<std::uint8_t>(what), static_cast<std::uint8_t>(x),
                             static_cast<std::uint8_t>(y), static_cast<std::uint8_t>(z)};
        });
    return rc::gen::container<std::vector<Instruction>>(length, instruction);
  });
}

TEST(RandomPrograms, AnyPlanHoldsWhatItsScheduleSaysAndChangesNoByte) {
  int count = std::max(100, program_count() / 4);
  int differentiated = 0, near = 0, bounded = 0, hooked = 0;
  bool good = holds("a planned step holds the predicted peak to the byte, and gives the bytes of the plain one",
                    20251129, count, [&] {
                      auto program = *any_program();
                      auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
                      RC_LOG() << describe(program);
                      PlannedOutcome out = run_planned(program, seed);
                      if (!out.differentiates) return;
                      ++differentiated;
                      near += out.thought_peak >= out.predicted_peak;
                      bounded += !out.exact;
                      hooked += !out.effects.empty();
                      if (out.foreseen && out.exact) RC_ASSERT(out.peak == out.predicted_peak);
                      if (out.foreseen) RC_ASSERT(out.peak <= out.predicted_peak);
                      RC_ASSERT(out.gradients == out.expected);
                      RC_ASSERT(out.states == out.expected_states);
                      RC_ASSERT(out.effects == out.expected_effects);
                      RC_LOG() << out.changed << "\n";
                RC_ASSERT(out.changed.empty());
                      RC_ASSERT(out.leaked == 0);
                      RC_ASSERT(out.left == 0);
                    });
  EXPECT_TRUE(good);
  EXPECT_GT(differentiated, count / 2);
  EXPECT_GT(bounded, count / 20) << "hardly any program's rows follow from data";
  EXPECT_GT(hooked, count / 20) << "hardly any planned step has hooks";
  EXPECT_GT(near, differentiated / 2) << "the solver's problem mostly thinks too little of what a plan holds";
}

TEST(RandomPrograms, AllMethodsGiveTheBytesOfTheRunWithoutSegments) {
  int count = program_count();
  int replays = 0;
  bool good =
      holds("gradients, states, streams and effects do not depend on the method, and a backward leaves the rest alone",
            20250601, count, [&] {
              auto program = *any_program();
              auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
              RC_LOG() << describe(program);
              Outcome plain = run_program(program, Method::retain, seed, false);
              auto left_alone = [](const Outcome& out) {
                RC_LOG() << out.changed << "\n";
                RC_ASSERT(out.changed.empty());
                RC_ASSERT(out.leaked == 0);
                RC_ASSERT(out.left == 0);
                RC_ASSERT(out.reads_left == 0);
              };
              left_alone(plain);
              for (Method method : {Method::retain, Method::whole, Method::region, Method::mixed}) {
                Outcome other = run_program(program, method, seed);
                RC_LOG() << "method " << to_string(method) << "\n";
                RC_ASSERT(other.gradients == plain.gradients);
                RC_ASSERT(other.states == plain.states);
                RC_ASSERT(other == plain);
                left_alone(other);
                replays += other.replays;
              }
            });
  EXPECT_TRUE(good);
  EXPECT_GT(replays, count) << "the programs hardly replay anything: the test is blind";
}

}  // namespace
}  // namespace reprise::testing
