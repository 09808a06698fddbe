#include <gtest/gtest.h>

#include <cmath>

#include "tests/recompute/random_property.h"

namespace reprise::testing {
namespace {

TEST(RandomPrograms, AreComparedByTheirBytes) {
  EXPECT_EQ((Numbers{{1.0, NAN}}), (Numbers{{1.0, NAN}}));
  EXPECT_FALSE((Numbers{{0.0}}) == (Numbers{{-0.0}}));
  EXPECT_FALSE((Numbers{{1.0}}) == (Numbers{{1.0, 1.0}}));
}

TEST(RandomPrograms, AnyPlanHoldsWhatItsScheduleSaysAndChangesNoByte) {
  int count = std::max(100, program_count() / 4);
  int differentiated = 0, near = 0, bounded = 0, hooked = 0;
  bool good = holds("a planned step holds the predicted peak to the byte, and gives the bytes of the plain one",
                    20251129, count, [&] {
                      auto program = *any_program(12, 61);
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
              auto program = *any_program(12, 61);
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
