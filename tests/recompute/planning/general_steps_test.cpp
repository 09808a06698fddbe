// Plans of steps with several forwards and backwards on one tape: two losses differentiated apart, micro-batches in
// turn or all at once, a graph that is differentiated twice. What is predicted is measured, and no byte changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "recompute/planning/planner.h"
#include "tests/recompute/planning/all_plans.h"
#include "tests/recompute/planning/memory_mlp.h"

namespace reprise {
namespace {

using testing::MemoryMlp;

struct GeneralStep {
  const char* name;
  std::function<void(MemoryMlp&)> run;
};

std::vector<GeneralStep> general_steps() {
  auto waiting = [](bool first_first) {
    return [=](MemoryMlp& m) {
      Value one = m.forward(), two = m.forward();
      m.tape->backward(first_first ? one : two);
      m.tape->backward(first_first ? two : one);
    };
  };
  return {{"two losses, each with its backward",
           [](MemoryMlp& m) {
             std::array<Value, 2> losses = m.two_losses();
             m.tape->backward(losses[0], true);
             m.tape->backward(losses[1]);
           }},
          {"micro-batches in turn",
           [](MemoryMlp& m) {
             for (int i = 0; i < 2; ++i) {
               Value root = m.forward();
               m.tape->backward(root);
             }
           }},
          {"two forwards, backwards in their order", waiting(true)},
          {"two forwards, backwards in reverse", waiting(false)},
          {"one backward of two forwards",
           [](MemoryMlp& m) {
             std::vector<Value> both;
             both.push_back(m.forward());
             both.push_back(m.forward());
             m.tape->backward(both);
           }},
          {"another step between two backwards of one graph", [](MemoryMlp& m) {
             Value one = m.forward();
             m.tape->backward(one, true);
             Value two = m.forward();
             m.tape->backward(two);
             m.tape->backward(one);
           }}};
}

struct DryGeneralStep {
  DryGeneralStep(const GeneralStep& general, const MemoryMlp::Sizes& sizes)
      : step(true, sizes),
        walker(Walker::of_step(*step.tape, [this, general] { general.run(step); })),
        profile(testing::made_up_profile(walker)) {}
  MemoryMlp step;
  Walker walker;
  Profile profile;
};

struct GeneralOutcome {
  std::int64_t peak = 0;
  bool followed = false;
  std::vector<std::vector<double>> numbers;  // gradients and the table
  std::vector<std::uint32_t> replays;        // per node
};

/// Without a schedule: the plain step, in which everything is retained.
GeneralOutcome run_general(const GeneralStep& general, const MemoryMlp::Sizes& sizes,
                           const Assignment* assignment = nullptr, const Schedule* schedule = nullptr) {
  MemoryMlp real(false, sizes);
  AssignmentPolicy policy;
  policy.assign(assignment);
  real.tape->set_policy(&policy);
  real.memory.meter().reset_peak();
  if (schedule) real.tape->follow(schedule);
  general.run(real);
  GeneralOutcome outcome{
      real.memory.meter().peak(), schedule && !real.tape->next_backward(), {real.table.to_doubles()}, {}};
  for (const LeafRef& w : real.weights) outcome.numbers.push_back(w->grad.to_doubles());
  for (const NodeRecord& node : real.tape->data().nodes) outcome.replays.push_back(node.runs > 0 ? node.runs - 1 : 0);
  real.tape->clear();
  real.tape->set_policy(nullptr);
  return outcome;
}

TEST(GeneralSteps, ArePlannedByEveryMethodAndHoldWhatTheirPlansSay) {
  const MemoryMlp::Sizes sizes{.segments = 3};
  for (const GeneralStep& general : general_steps()) {
    SCOPED_TRACE(general.name);
    DryGeneralStep dry(general, sizes);
    Planner planner(dry.walker, dry.profile, {});
    std::vector<std::vector<double>> plain = run_general(general, sizes).numbers;
    std::int64_t low = planner.least("joint").predicted_peak;
    std::int64_t high = planner.plan("joint", 0).plan->predicted_peak;
    ASSERT_LT(low, high);
    for (int i = 0; i <= 4; ++i) {
      std::int64_t budget = low + (high - low) * i / 4;
      Planner::Answer joint = planner.plan("joint", budget);
      ASSERT_TRUE(joint.plan) << joint.none.message;
      for (const std::string& method : plannable_methods()) {
        Planner::Answer answer = planner.plan(method, budget);
        if (!answer.plan) {
          EXPECT_GT(answer.none.smallest_budget, budget) << method;
          continue;
        }
        const Plan& plan = *answer.plan;
        EXPECT_LE(plan.predicted_peak, budget) << method;
        EXPECT_LE(plan.lower_bound_ns, plan.predicted_ns) << method;
        EXPECT_LE(joint.plan->predicted_ns, plan.predicted_ns) << method;
        Assignment assignment = plan.assignment();
        Schedule schedule = dry.walker.schedule(assignment);
        GeneralOutcome outcome = run_general(general, sizes, &assignment, &schedule);
        EXPECT_EQ(outcome.peak, plan.predicted_peak) << method << " at " << budget;
        EXPECT_TRUE(outcome.followed) << method << " at " << budget;
        EXPECT_EQ(outcome.numbers, plain) << method << " at " << budget;
      }
    }
  }
}

TEST(GeneralSteps, NoWalkedPlanBeatsTheBoundOrAPlanThatIsProven) {
  for (const GeneralStep& general : general_steps()) {
    SCOPED_TRACE(general.name);
    DryGeneralStep dry(general, {.segments = 2});
    Planner planner(dry.walker, dry.profile, {.keep_values = false, .longest_run = 1, .made_for = {}});
    auto plans = testing::all_plans(dry.walker, dry.profile, planned_method("joint"));  // peak, time
    std::sort(plans.begin(), plans.end());
    std::int64_t least = planner.least("joint").predicted_peak;
    EXPECT_LE(least, plans.front().first + plans.front().first / 50);
    std::int64_t best = INT64_MAX;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      best = std::min(best, plans[i].second);
      bool last = i + 1 == plans.size() || plans[i + 1].first != plans[i].first;
      if (!last || plans[i].first < least) continue;
      Planner::Answer answer = planner.plan("joint", plans[i].first);
      ASSERT_TRUE(answer.plan) << answer.none.message;
      EXPECT_LE(answer.plan->lower_bound_ns, best) << "at " << plans[i].first;
      EXPECT_GE(answer.plan->predicted_ns, best) << "at " << plans[i].first;
      if (answer.plan->proven) {
        EXPECT_EQ(answer.plan->predicted_ns, best) << "at " << plans[i].first;
      }
    }
  }
}

TEST(GeneralSteps, EveryReplayOfEveryBackwardIsCounted) {
  const MemoryMlp::Sizes sizes{.segments = 2};
  for (const GeneralStep& general : general_steps()) {
    SCOPED_TRACE(general.name);
    DryGeneralStep dry(general, sizes);
    Assignment assignment;
    assignment.segments.assign(simple_space(dry.walker).size(), {ValueOption::replay, StateOption::region});
    Walk walk = dry.walker.walk(assignment);
    Schedule schedule = dry.walker.schedule(assignment);
    EXPECT_EQ(run_general(general, sizes, &assignment, &schedule).replays, walk.replays);
    EXPECT_GT(std::count_if(walk.replays.begin(), walk.replays.end(), [](std::uint32_t n) { return n > 0; }), 0);
  }
}

TEST(GeneralSteps, RowsFollowTheStepInTime) {
  DryGeneralStep dry(general_steps()[1], {.segments = 1});
  StepRows rows = dry.walker.walk({}).rows;
  std::vector<std::string> names;
  dry.walker.look({}, [&](Tape& tape) {
    Units units(tape.data());
    for (int row = 0; row < rows.count(); ++row) names.push_back(rows.name(row, units));
  });
  EXPECT_EQ(names, (std::vector<std::string>{
                       "forward of (outside)", "forward of part0", "forward of (outside)/2",
                       "backward of (outside)/2, in backward 1 of 2", "backward of part0, in backward 1 of 2",
                       "forward of (outside)/2", "forward of part0/2", "forward of (outside)/3",
                       "backward of (outside)/3, in backward 2 of 2", "backward of part0/2, in backward 2 of 2"}));
  EXPECT_EQ(rows.of_unit(1), (std::vector<int>{1, 4}));
  EXPECT_EQ(rows.visits(1, 4), 1);
  EXPECT_EQ(rows.in_backward(1, 0), 4);
  EXPECT_EQ(rows.in_backward(1, 1), 9) << "the second backward does not reach it: its last row";
}

}  // namespace
}  // namespace reprise
