// The budget of a step that no dry trace before the first step has looked at.
#include "models/train/budget.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace reprise {
namespace {

TEST(Budget, AStepInAStateOfTheHostThatNobodyLookedAtIsRefusedBeforeItBegins) {
  Config config = load_config("", {"model.type=slot_cache", "memory.budget=1MiB"});
  Schedule step;
  step.peak.total_peak = 1 << 20;
  step.peak.at_peak[static_cast<std::size_t>(Category::state)] = 4096;
  EXPECT_NO_THROW(check_budget(config, step));
  step.peak.total_peak += 64;
  testing::expect_error(ErrorKind::config, {"memory.budget", "1048640 bytes", "1048576 bytes", "state 4096"},
                        [&] { check_budget(config, step); });
  step.exact = false;  // its sizes are upper bounds
  EXPECT_NO_THROW(check_budget(config, step));
}

}  // namespace
}  // namespace reprise
