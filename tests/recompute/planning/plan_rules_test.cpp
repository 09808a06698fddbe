// Plans beside the step that they are to be followed in: what is not of that step is refused by name.
#include "recompute/planning/plan_rules.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/recompute/planning/memory_mlp.h"

namespace reprise {
namespace {

using testing::MemoryMlp;

/// A step of four segments with a write behind each, and a plan that retains them.
struct Retained {
  Retained() : step(true, {}), walker(*step.tape, [this] { return step.forward(); }) {
    walker.look({}, [&](Tape& tape) {
      plan.nodes = static_cast<std::uint32_t>(tape.data().nodes.size());
      for (const SegmentInstance& segment : tape.data().segments) {
        plan.segments.push_back({.id = segment.name, .option = "retain", .kept = {}, .why = ""});
        first_nodes.push_back(segment.first_node);
      }
    });
  }
  std::string refusal(const Plan& changed) {
    std::string text;
    walker.look({}, [&](Tape& tape) {
      try {
        require_fits(changed, tape.data(), "mine.json");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::user);
        text = error.what();
      }
    });
    return text;
  }
  MemoryMlp step;
  Walker walker;
  Plan plan;
  std::vector<std::uint32_t> first_nodes;
};

TEST(PlanRules, APlanOfAnotherStepIsRefusedWithThePlace) {
  Retained retained;
  ASSERT_GE(retained.plan.segments.size(), 4u);
  EXPECT_EQ(retained.refusal(retained.plan), "");
  auto expect = [&](const std::string& part, const std::function<void(Plan&)>& change) {
    Plan changed = retained.plan;
    change(changed);
    std::string text = retained.refusal(changed);
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    EXPECT_NE(text.find("mine.json"), std::string::npos) << text;
  };
  std::uint32_t other = retained.first_nodes[1], own = retained.first_nodes[0];
  expect("nodes: expected ", [](Plan& p) { ++p.nodes; });
  expect("segments: expected 4, got 3", [](Plan& p) { p.segments.pop_back(); });
  expect("segments: expected 4, got 5", [](Plan& p) { p.segments.push_back(p.segments.back()); });
  expect("segments[1].id: expected 'part1', got 'part2'", [](Plan& p) { p.segments[1].id = "part2"; });
  expect("segments[0].kept: expected nodes of its own", [&](Plan& p) { p.segments[0].kept = {{other, 0}}; });
  expect("segments[0].kept: expected one of the ", [&](Plan& p) { p.segments[0].kept = {{own, 63}}; });
  expect("classes[0].update: expected one of the ",
         [&](Plan& p) { p.classes.push_back({.storage = "table", .node = own, .update = 7, .readers = {}}); });
  expect("segments[0].run: expected a run of segments without nodes between", [](Plan& p) {
    p.segments[0].run = p.segments[1].run = 1;
    p.segments[1].run_ends = true;
  });
}

}  // namespace
}  // namespace reprise
