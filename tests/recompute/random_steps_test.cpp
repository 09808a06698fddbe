// Planned steps of several forwards and backwards: the schedule of each tape tells them all.
#include <gtest/gtest.h>

#include "tests/recompute/random_property.h"

namespace reprise::testing {
namespace {

TEST(RandomSteps, OfSeveralForwardsAndBackwardsHoldWhatTheirSchedulesSayAndChangeNoByte) {
  int count = std::max(100, program_count() / 4);
  int several = 0, waiting = 0, kept = 0, both_tapes = 0, exact = 0, replays = 0;
  bool good = holds(
      "a planned step of several forwards and backwards holds the predicted peak to the byte, and gives the bytes of the "
      "plain one",
      20251130, count, [&] {
        auto step = *any_step();
        auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
        RC_LOG() << describe(step);
        StepOutcome out = run_planned_step(step, seed);
        if (out.backwards == 0) return;
        several += out.backwards > 1;
        waiting += out.waiting > 0;
        kept += out.kept > 0;
        both_tapes += out.tapes == 2;
        replays += out.replays;
        exact += out.exact && out.foreseen;
        if (out.foreseen) RC_ASSERT(out.followed);
        if (out.foreseen && out.exact) RC_ASSERT(out.peak == out.predicted_peak);
        if (out.foreseen) RC_ASSERT(out.peak <= out.predicted_peak);
        RC_ASSERT(out.gradients == out.expected);
        RC_ASSERT(out.states == out.expected_states);
        RC_ASSERT(out.stream == out.expected_stream);
        RC_ASSERT(out.effects == out.expected_effects);
        RC_LOG() << out.changed << "\n";
        RC_ASSERT(out.changed.empty());
        RC_ASSERT(out.leaked == 0);
        RC_ASSERT(out.reads_left == 0);
        RC_ASSERT(out.left == 0);
      });
  EXPECT_TRUE(good);
  EXPECT_GT(several, count / 2);
  EXPECT_GT(waiting, count / 5) << "hardly any step has several forwards before a backward";
  EXPECT_GT(kept, count / 5) << "hardly any graph is differentiated more than once";
  EXPECT_GT(both_tapes, count / 10) << "hardly any step is on two tapes";
  EXPECT_GT(exact, count / 5) << "hardly any step's peak is known to the byte";
  EXPECT_GT(replays, count) << "the steps hardly replay anything: the test is blind";
}

}  // namespace
}  // namespace reprise::testing
