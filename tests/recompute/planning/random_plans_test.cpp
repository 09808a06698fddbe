// Plans of random programs, whose rows often hold less than the problem thinks, so that only a walk can tell: none
// replays what it could retain for no byte of its peak and no time, and none holds less than the smallest budget.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "recompute/planning/kept_sets.h"
#include "recompute/planning/planner.h"
#include "recompute/solver/evaluate.h"
#include "tests/recompute/random_machine.h"

namespace reprise::testing {
namespace {

/// A random program as one dry step, with made-up times.
class PlannedProgram {
 public:
  PlannedProgram(std::vector<Instruction> program, std::uint64_t seed, bool keep_values)
      : program_(std::move(program)),
        keep_values_(keep_values),
        machine_(Method::retain, seed, true, Machine::Mode::dry),
        walker_(*machine_.lab().tape, [this] { return machine_.forward(program_); }) {
    walker_.look({}, [this](Tape& tape) {
      for (std::size_t n = 0; n < tape.data().nodes.size(); ++n)
        profile_.forward_ns.push_back(1000 + static_cast<std::int64_t>(n) % 7 * 400);
    });
    profile_.step_ns = 1000000000;  // beside it any replay is short, which is no reason to do it
    profile_.copy = {500, 0.1, 0};
    profile_.gather = {800, 0.12, 3};
    profile_.exchange = {300, 0.2, 3};
  }

  /// What is wrong with the plans of every method that may retain, at `budgets` budgets; nothing where all is well.
  std::string wrong(int budgets) {
    Problem problem(walker_, keep_values_ ? space_with_kept_values(walker_, profile_) : simple_space(walker_),
                    profile_);
    Planner planner(walker_, profile_, {.keep_values = keep_values_, .longest_run = 1, .made_for = {}});
    std::string text;
    for (const std::string method : {"retain+whole", "retain+region", "joint"}) {
      std::int64_t low = planner.least(method).predicted_peak;
      std::int64_t high = planner.plan(method, 0).plan->predicted_peak;
      if (high < low) return fmt::format("{} fits {} bytes without a budget, but needs {}", method, high, low);
      for (int b = 0; b < budgets; ++b) {
        Planner::Answer answer = planner.plan(method, low + (high - low) * b / budgets);
        if (!answer.plan) return text + answer.none.message;
        std::string found = idle_in(problem, *answer.plan);
        if (!found.empty()) text += fmt::format("{} of {} to {} bytes: {}\n", method, low, high, found);
      }
    }
    return text;
  }
  int replayed() const { return replayed_; }

 private:
  std::string idle_in(const Problem& problem, const Plan& plan) {
    std::string text;
    std::optional<solver::Choice> choice = problem.choice_of(plan);
    if (!choice) return "a plan that is not in its own space";
    std::int64_t time = solver::evaluate(problem.instance(), *choice).time_ns;
    for (std::uint32_t s = 0; s < plan.segments.size(); ++s) {
      if (!plan.segments[s].replay) continue;
      ++replayed_;
      solver::Choice other = *choice;
      other.options[problem.units().of_segment(s)] = 0;
      if (solver::evaluate(problem.instance(), other).time_ns > time) continue;  // it owes more than it saves
      std::int64_t peak = walker_.schedule(problem.assignment(other, plan.fallback)).peak.total_peak;
      if (peak <= plan.predicted_peak) text += fmt::format("{} ({} bytes) ", plan.segments[s].id, peak);
    }
    return text;
  }

  std::vector<Instruction> program_;
  bool keep_values_;
  Machine machine_;
  Walker walker_;
  Profile profile_;
  int replayed_ = 0;
};

TEST(RandomPlans, OnlyAWalkTellsThatAReplayIsIdle) {
  // open, tanh, in_place_mul, close, step_leaf, open, gather: the second segment is thought to be over by a block.
  PlannedProgram step(
      {{20, 0, 0, 0}, {3, 44, 0, 0}, {10, 0, 0, 0}, {22, 0, 0, 0}, {18, 1, 0, 0}, {21, 0, 0, 0}, {5, 0, 0, 0}}, 5,
      true);
  EXPECT_EQ(step.wrong(4), "");
  EXPECT_GT(step.replayed(), 0) << "no plan replays anything";
}

TEST(RandomPlans, ReplayNothingForNothingAndHoldTheSmallestBudgetAtLeast) {
  int replayed = 0;
  for (std::uint32_t seed = 1100; seed < 1400; ++seed) {
    std::mt19937 random(seed);
    std::vector<Instruction> program(12 + random() % 60);
    for (Instruction& instruction : program) {
      for (std::uint8_t& byte : instruction) byte = static_cast<std::uint8_t>(random());
    }
    bool keep_values = random() % 2;
    if (!Machine(Method::retain, seed % 7, false, Machine::Mode::planned).forward(program).defined()) continue;
    PlannedProgram step(program, seed % 7, keep_values);
    EXPECT_EQ(step.wrong(4), "") << "seed " << seed << ": " << describe(program);
    replayed += step.replayed();
  }
  EXPECT_GT(replayed, 500) << "hardly any plan replays anything";
}

}  // namespace
}  // namespace reprise::testing
