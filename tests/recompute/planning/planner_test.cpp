// The planner on real tapes: what it predicts is what is measured, and what it plans changes no byte.
#include "recompute/planning/planner.h"

#include <gtest/gtest.h>

#include <map>

#include "recompute/planning/kept_sets.h"
#include "recompute/planning/plan_text.h"
#include "recompute/solver/evaluate.h"
#include "tests/recompute/planning/all_plans.h"
#include "tests/recompute/planning/memory_mlp.h"
#include "tests/support/planned_tape.h"

namespace reprise {
namespace {

using testing::MemoryMlp;

/// A dry step with its walker and made-up times.
struct Dry {
  explicit Dry(const MemoryMlp::Sizes& sizes = {})
      : step(true, sizes),
        walker(*step.tape, [this] { return step.forward(); }),
        profile(testing::made_up_profile(walker)) {}
  MemoryMlp step;
  Walker walker;
  Profile profile;
};

struct Outcome {
  std::int64_t peak = 0;
  std::vector<std::vector<double>> gradients;
  std::vector<double> table;
};

Outcome run(const Assignment& assignment, const Schedule& schedule, const MemoryMlp::Sizes& sizes = {}) {
  MemoryMlp real(false, sizes);
  testing::PlannedTape planned(*real.tape, assignment, schedule);
  {
    Value root = real.forward();
    real.tape->backward(root);
  }
  Outcome outcome{real.memory.meter().peak(), {}, real.table.to_doubles()};
  for (const LeafRef& w : real.weights) outcome.gradients.push_back(w->grad.to_doubles());
  return outcome;
}

TEST(Planner, WhatAnyChoiceHoldsIsMeasuredToTheByte) {
  Dry dry;
  Problem problem(dry.walker, space_with_kept_values(dry.walker, dry.profile), dry.profile);
  const solver::Instance& instance = problem.instance();
  ASSERT_FALSE(problem.classes().empty());
  Outcome plain;
  std::uint64_t bits = 12345;
  auto draw = [&](std::size_t n) {
    return static_cast<std::size_t>((bits = bits * 6364136223846793005u + 1442695040888963407u) >> 33) % n;
  };
  for (int round = 0; round < 40; ++round) {
    solver::Choice choice;
    for (const solver::Segment& segment : instance.segments)
      choice.options.push_back(static_cast<std::uint8_t>(draw(segment.options.size())));
    for (std::size_t c = 0; c < instance.classes.size(); ++c)
      choice.states.push_back(draw(2) ? solver::StateChoice::whole : solver::StateChoice::region);
    if (round == 0) std::fill(choice.options.begin(), choice.options.end(), 0);
    Assignment assignment = problem.assignment(choice, StateOption::region);
    Schedule schedule = dry.walker.schedule(assignment);
    Outcome outcome = run(assignment, schedule);
    EXPECT_EQ(outcome.peak, schedule.peak.total_peak) << round;
    if (round == 0) plain = outcome;
    EXPECT_EQ(outcome.gradients, plain.gradients) << round;
    EXPECT_EQ(outcome.table, plain.table) << round;
  }
}

TEST(Planner, TheProblemKnowsThePeakOfUniformPlansToTheByteAndOfMixedOnesNearly) {
  Dry dry;
  Problem problem(dry.walker, simple_space(dry.walker), dry.profile);
  const solver::Instance& instance = problem.instance();
  for (std::uint8_t option : {0, 1}) {
    for (solver::StateChoice state : {solver::StateChoice::whole, solver::StateChoice::region}) {
      solver::Choice choice;
      for (const solver::Segment& segment : instance.segments)
        choice.options.push_back(std::min<std::uint8_t>(option, static_cast<std::uint8_t>(segment.options.size() - 1)));
      choice.states.assign(instance.classes.size(), state);
      std::int64_t walked = dry.walker.schedule(problem.assignment(choice, StateOption::region)).peak.total_peak;
      std::int64_t thought = solver::evaluate(instance, choice).peak;
      EXPECT_GE(thought, walked);
      EXPECT_LE(thought, walked + walked / 20);
    }
  }
}

TEST(Planner, MethodsWithMoreThanOneOptionArePlanned) {
  std::vector<std::string> planned, fixed;
  for (const std::string& method : all_methods()) (is_planned(method) ? planned : fixed).push_back(method);
  EXPECT_EQ(planned, (std::vector<std::string>{"retain+whole", "retain+region", "whole+region", "joint"}));
  EXPECT_EQ(fixed, (std::vector<std::string>{"retain", "whole", "region", "unchecked"}));
  EXPECT_FALSE(is_planned("no method"));
}

TEST(Planner, JointIsNeverWorseAndEveryPlanFitsItsBudget) {
  Dry dry;
  Planner planner(dry.walker, dry.profile, {});
  std::int64_t low = planner.least("joint").predicted_peak;
  std::int64_t high = planner.plan("joint", 0).plan->predicted_peak;
  ASSERT_LT(low, high);
  for (int i = 0; i <= 8; ++i) {
    std::int64_t budget = low + (high - low) * i / 8;
    Planner::Answer joint = planner.plan("joint", budget);
    ASSERT_TRUE(joint.plan) << joint.none.message;
    for (const std::string& method : plannable_methods()) {
      Planner::Answer answer = planner.plan(method, budget);
      if (!answer.plan) {
        EXPECT_NE(answer.none.message.find("smallest feasible budget"), std::string::npos) << answer.none.message;
        EXPECT_GT(answer.none.smallest_budget, budget) << method;
        continue;
      }
      EXPECT_LE(answer.plan->predicted_peak, budget) << method;
      EXPECT_LE(joint.plan->predicted_ns, answer.plan->predicted_ns) << method << " at " << budget;
      EXPECT_LE(answer.plan->lower_bound_ns, answer.plan->predicted_ns);
      Assignment assignment = answer.plan->assignment();
      EXPECT_EQ(run(assignment, dry.walker.schedule(assignment)).peak, answer.plan->predicted_peak) << method;
    }
  }
}

TEST(Planner, NoWalkedPlanThatFitsIsFasterThanTheOneChosenOrItsBound) {
  for (const MemoryMlp::Sizes& sizes :
       {MemoryMlp::Sizes{.segments = 4}, MemoryMlp::Sizes{.batch = 9, .table = 32, .written = 5, .segments = 4}}) {
    Dry dry(sizes);
    for (const std::string name : {"retain+region", "retain+whole", "whole+region", "joint"}) {
      Planner planner(dry.walker, dry.profile, {.keep_values = false, .longest_run = 1, .made_for = {}});
      auto plans = testing::all_plans(dry.walker, dry.profile, planned_method(name));
      std::sort(plans.begin(), plans.end());
      EXPECT_EQ(planner.least(name).predicted_peak, plans.front().first) << name;
      EXPECT_FALSE(planner.plan(name, plans.front().first - 1).plan) << name;
      int proven = 0, budgets = 0;
      std::int64_t best = INT64_MAX;
      for (std::size_t i = 0; i < plans.size(); ++i) {
        best = std::min(best, plans[i].second);
        if (i + 1 < plans.size() && plans[i + 1].first == plans[i].first) continue;
        Planner::Answer answer = planner.plan(name, plans[i].first);
        ASSERT_TRUE(answer.plan) << name << ": " << answer.none.message;
        EXPECT_EQ(answer.plan->predicted_ns, best) << name << " at " << plans[i].first;
        EXPECT_LE(answer.plan->lower_bound_ns, best) << name << " at " << plans[i].first;
        proven += answer.plan->proven;
        ++budgets;
      }
      EXPECT_GE(2 * proven, budgets) << name;
    }
  }
}

TEST(Planner, NothingIsReplayedThatCouldStayForNoByteOfThePeak) {
  int replayed = 0;
  for (const MemoryMlp::Sizes& sizes : {MemoryMlp::Sizes{.segments = 4}, MemoryMlp::Sizes{.segments = 7},
                                        MemoryMlp::Sizes{.batch = 9, .table = 32, .written = 5, .segments = 5}}) {
    Dry dry(sizes);
    dry.profile.step_ns = 1000000000;  // beside it any replay is short, which is no reason to do it
    Planner planner(dry.walker, dry.profile, {});
    for (const std::string method : {"retain+whole", "retain+region", "joint"}) {
      std::int64_t low = planner.least(method).predicted_peak;
      std::int64_t high = planner.plan(method, 0).plan->predicted_peak;
      for (int i = 0; i <= 12; ++i) {
        std::int64_t budget = low + (high - low) * i / 12;
        Planner::Answer answer = planner.plan(method, budget);
        ASSERT_TRUE(answer.plan) << answer.none.message;
        Assignment assignment = answer.plan->assignment();
        for (std::size_t s = 0; s < assignment.segments.size(); ++s) {
          if (assignment.segments[s].values == ValueOption::retain) continue;
          ++replayed;
          Assignment other = assignment;
          other.segments[s].values = ValueOption::retain;
          EXPECT_GT(dry.walker.schedule(other).peak.total_peak, answer.plan->predicted_peak)
              << method << " at " << budget << " replays " << answer.plan->segments[s].id;
        }
      }
    }
  }
  EXPECT_GT(replayed, 0) << "no plan replays anything";
}

TEST(Planner, FeasibilityAndTimeAreMonotoneInTheBudgetAndTheMethod) {
  Dry dry;
  Planner planner(dry.walker, dry.profile, {});
  std::vector<std::int64_t> budgets;
  for (const std::string& method : plannable_methods()) {
    for (std::int64_t bytes : {planner.least(method).predicted_peak, planner.plan(method, 0).plan->predicted_peak})
      budgets.insert(budgets.end(), {bytes - 1, bytes, bytes + 64});
  }
  std::sort(budgets.begin(), budgets.end());
  std::map<std::string, std::int64_t> before;
  for (std::int64_t budget : budgets) {
    for (const PlannedMethod& wide : planned_methods()) {
      Planner::Answer answer = planner.plan(wide.name, budget);
      EXPECT_EQ(answer.plan.has_value(), budget >= planner.least(wide.name).predicted_peak)
          << wide.name << " " << budget;
      for (const PlannedMethod& narrow : planned_methods()) {
        Planner::Answer other = planner.plan(narrow.name, budget);
        if (!wide.contains(narrow) || !other.plan) continue;
        ASSERT_TRUE(answer.plan) << wide.name << " " << budget;
        EXPECT_LE(answer.plan->predicted_ns, other.plan->predicted_ns)
            << wide.name << " " << narrow.name << " " << budget;
      }
      if (!answer.plan) continue;
      if (before.contains(wide.name)) {
        EXPECT_LE(answer.plan->lower_bound_ns, before[wide.name]) << wide.name << " " << budget;
      }
      before[wide.name] = answer.plan->predicted_ns;
    }
  }
}

TEST(Planner, OfPlansThatAreAlikeTheOneThatRetainsEarlierSegmentsIsBetter) {
  auto make = [](std::int64_t ns, std::int64_t peak, const std::vector<bool>& replays) {
    Plan plan;
    plan.predicted_ns = ns;
    plan.predicted_peak = peak;
    for (bool replay : replays) plan.segments.emplace_back().replay = replay;
    return plan;
  };
  const Plan plans[] = {make(4, 9, {true, true, true}),   make(5, 6, {true, true, true}),
                        make(5, 7, {true, false, false}), make(5, 7, {false, true, true}),
                        make(5, 7, {true, false, true}),  make(5, 7, {true, true, false})};  // from the best on
  for (std::size_t a = 0; a < std::size(plans); ++a) {
    for (std::size_t b = 0; b < std::size(plans); ++b) EXPECT_EQ(is_better(plans[a], plans[b]), a < b) << a << " " << b;
  }
}

TEST(Planner, APlanReadBackIsTheSamePlan) {
  Dry dry;
  Planner planner(dry.walker, dry.profile, {.made_for = {"t", "c", "b", 2}});
  Plan plan = planner.least("joint");
  std::string text = to_json(plan);
  EXPECT_EQ(plan_from_json(text, "plan.json"), plan);
  EXPECT_EQ(to_json(plan_from_json(text, "plan.json")), text);
  EXPECT_EQ(to_json(planner.least("joint")), text);
  EXPECT_NO_THROW(require_made_for(plan, {"t", "c", "b", 2}, "plan.json"));
  const std::pair<PlanPrint, const char*> others[] = {
      {{"other", "c", "b", 2}, "made for trace t (here other)."},
      {{"t", "other", "b", 2}, "made for contracts c (here other)."},
      {{"t", "c", "other", 2}, "made for build b (here other)."},
      {{"t", "c", "b", 3}, "made for threads 2 (here 3)."},
      {{"t", "other", "new", 2}, "made for build b (here new), contracts c (here other)."}};
  for (const auto& [here, says] : others) {
    try {
      require_made_for(plan, here, "plan.json");
      ADD_FAILURE() << "expected an error: " << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::user);
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
}

TEST(Planner, TextThatIsNoPlanIsRefusedWithItsPlace) {
  for (const char* text : {"", "[]", "{}", "{\"format\": \"reprise-plan/2\"}", "{\"format\": \"reprise-plan/1\"}"}) {
    try {
      plan_from_json(text, "mine.json");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::user);
      EXPECT_NE(std::string(error.what()).find("mine.json"), std::string::npos) << error.what();
    }
  }
}

TEST(Profile, ReadBackIsTheSame) {
  Dry dry;
  dry.profile.machine = "m";
  dry.profile.trace = "0123";
  EXPECT_EQ(profile_from_json(to_json(dry.profile), "profile.json"), dry.profile);
}

}  // namespace
}  // namespace reprise
