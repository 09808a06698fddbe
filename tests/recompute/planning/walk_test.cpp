// Walks of steps that are not as they should be: refused, and the walker goes on.
#include "recompute/planning/walk.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/recompute/planning/memory_mlp.h"
#include "tests/support/errors.h"

namespace reprise {
namespace {

using testing::MemoryMlp;

TEST(Walker, AStepThatRecordsNothingIsRefused) {
  MemoryMlp dry(true, {});
  Walker walker = Walker::of_step(*dry.tape, [] {});
  testing::expect_error(ErrorKind::user, {"[plan]", "records nodes"}, [&] { walker.walk({}); });
}

TEST(Walker, GoesOnAfterAStepThatFailed) {
  MemoryMlp dry(true, {});
  bool fails = false;
  Walker walker(*dry.tape, [&] {
    Value root = dry.forward();
    if (fails) throw std::runtime_error("the step");
    return root;
  });
  std::int64_t peak = walker.schedule({}).peak.total_peak;
  fails = true;
  EXPECT_THROW(walker.look({}, [](Tape&) {}), std::runtime_error);
  fails = false;
  std::size_t nodes = 0;
  walker.look({}, [&](Tape& tape) { nodes = tape.data().nodes.size(); });
  EXPECT_GT(nodes, 0u);
  fails = true;
  EXPECT_THROW(walker.schedule({}), std::runtime_error);
  fails = false;
  EXPECT_EQ(walker.schedule({}).peak.total_peak, peak);
}

}  // namespace
}  // namespace reprise
