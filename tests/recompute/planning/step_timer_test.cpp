// A step's time is shared out among its nodes, and none of it is lost.
#include "recompute/planning/step_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "autograd/segment.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/unary.h"
#include "tests/support/errors.h"
#include "tests/support/full_heap.h"
#include "tests/support/lab.h"

namespace reprise {
namespace {

using testing::Lab;

/// One step; returns its number of nodes.
std::size_t run_step(Lab& lab, const LeafRef& x) {
  Tape& t = *lab.tape;
  Value loss;
  {
    Value y = segment(t, "part", [&] { return sin(t, mul(t, x, 2.0)); });
    loss = mean(t, y);
  }
  std::size_t nodes = t.data().nodes.size();
  t.backward(loss);
  return nodes;
}

std::int64_t measured(const std::vector<std::int64_t>& times) {
  return std::accumulate(times.begin(), times.end(), std::int64_t{0},
                         [](std::int64_t sum, std::int64_t ns) { return sum + std::max<std::int64_t>(ns, 0); });
}

TEST(StepTimer, TimesOfNodesAndTheRestAddUpToTheStep) {
  Lab lab(Method::region);
  LeafRef x = lab.leaf({64}, std::vector<double>(64, 0.3));
  StepTimer timer;
  timer.attach(*lab.tape);
  timer.begin();
  std::size_t nodes = run_step(lab, x);
  timer.end();
  timer.detach();
  Profile profile;
  timer.read(profile);
  ASSERT_EQ(profile.forward_ns.size(), nodes);
  ASSERT_EQ(profile.replay_ns.size(), nodes);
  ASSERT_EQ(profile.backward_ns.size(), nodes);
  for (std::int64_t ns : profile.forward_ns) EXPECT_GE(ns, 0);
  EXPECT_GT(profile.replayed_ns, 0) << "the segment was replayed";
  EXPECT_EQ(profile.replayed_ns, measured(profile.replay_ns));
  EXPECT_EQ(profile.step_ns, measured(profile.forward_ns) + measured(profile.replay_ns) +
                                 measured(profile.backward_ns) + profile.rest_ns + profile.moved_ns);
}

TEST(StepTimer, HearsOfPreservingWithoutTakingMemory) {
  Lab lab;
  Tensor state = lab.state({4}, {1, 2, 3, 4});
  StepTimer timer;
  timer.attach(*lab.tape);
  auto preserve = [&] {  // neither call may fail: with an exception the program would end
    full_heap::Refusing refusing(0);
    timer.begins(PreserveListener::What::preserve, state.storage());
    timer.ends({});
  };
  preserve();  // before any step
  timer.begin();
  preserve();
  timer.before_replay(*lab.tape, 40);
  preserve();
  timer.before_backward(*lab.tape, 50);
  preserve();
  timer.end();
  EXPECT_EQ(timer.moves().steps, 1);
  EXPECT_GT(timer.moves().preserve_ns, 0);
}

TEST(StepTimer, ForgottenStepsAreNotMeasuredOnes) {
  Lab lab;
  LeafRef x = lab.leaf({4}, std::vector<double>(4, 0.3));
  StepTimer timer;
  timer.attach(*lab.tape);
  timer.begin();
  run_step(lab, x);
  timer.end();
  timer.forget();
  timer.detach();
  Profile profile;
  testing::expect_error(ErrorKind::internal, {"at least one measured step"}, [&] { timer.read(profile); });
}

}  // namespace
}  // namespace reprise
