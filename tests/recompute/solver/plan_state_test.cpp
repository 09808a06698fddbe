// A plan under change has the time and the peak of the same plan counted anew.
#include "recompute/solver/plan_state.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/recompute/solver/random_small.h"

namespace reprise::solver {
namespace {

RC_GTEST_PROP(RowTree, AdditionsToRangesAddUpAsInAList, ()) {
  auto rows = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 50)));
  RowTree tree(rows);
  auto additions = *rc::gen::inRange(1, 30);
  for (int i = 0; i < additions; ++i) {
    auto first = *rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(rows.size()));
    auto last = *rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(rows.size()));
    auto bytes = *rc::gen::inRange<std::int64_t>(-40, 40);
    tree.add(first, last, bytes);  // no row, where the last is before the first
    for (std::int32_t row = first; row <= last; ++row) rows[static_cast<std::size_t>(row)] += bytes;
    auto highest = std::max_element(rows.begin(), rows.end());
    RC_ASSERT(tree.highest() == *highest);
    RC_ASSERT(tree.highest_row() == highest - rows.begin());
  }
}

TEST(RowTree, WithoutRowsHasNoHighest) {
  RowTree tree({});
  tree.add(0, 0, 5);
  EXPECT_EQ(tree.highest(), 0);
  EXPECT_EQ(tree.highest_row(), -1);
}

RC_GTEST_PROP(PlanState, SwitchesGiveTheLoadOfTheNewAssignment, ()) {
  auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000000);
  Instance instance = random_small(seed);
  Model model = compile(instance, domain_of(instance, {}), 0);  // no budget: every row that can hold bytes is kept
  RC_PRE(!model.variables.empty());
  PlanState state(model, Assignment(model.variables.size(), 0));
  for (int i = 0; i < 12; ++i) {
    auto variable = *rc::gen::inRange<std::size_t>(0, model.variables.size());
    auto option = *rc::gen::inRange<std::size_t>(0, model.variables[variable].options.size());
    state.set(variable, static_cast<std::uint8_t>(option));
    Load load = load_of(model, state.assignment());
    RC_ASSERT(state.assignment()[variable] == option);
    RC_ASSERT(state.time() == load.time);
    RC_ASSERT(state.peak() == (load.rows.empty() ? 0 : *std::max_element(load.rows.begin(), load.rows.end())));
    for (std::size_t j = 0; j < model.objects.size(); ++j) {
      RC_ASSERT(state.level(j) == level_of(model.objects[j], state.assignment()));
    }
  }
}

}  // namespace
}  // namespace reprise::solver
