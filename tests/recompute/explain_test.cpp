// What explain says is what the meter and the preserver count.
#include "recompute/explain.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ops/arithmetic.h"
#include "ops/draws.h"
#include "ops/row_state.h"
#include "ops/rows.h"
#include "ops/select.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "tests/support/lab.h"
#include "tests/support/text.h"

namespace reprise {
namespace {

using testing::contains;
using testing::Lab;

/// Two segments that read one table, which is written twice afterwards; views, in-place values, a held value.
struct Program {
  explicit Program(Method method) : lab(method) {
    Tape& t = *lab.tape;
    LeafRef x = lab.leaf({4, 3}, std::vector<double>(12, 0.3), "x");
    table = lab.state({50, 3}, std::vector<double>(150, 0.5));
    table.storage().set_name("table");
    y = segment(t, "a", [&] {
      Value h = sin(t, mul(t, x, 2.0));
      held = tanh(t, h);
      mul_into(t, h, 3.0);
      Value flat = reshape(t, transpose(t, h), {4, 3});
      return mul(t, flat, gather_rows(t, table, lab.indices({1, 2, 3, 4})));
    });
    y = segment(t, "b", [&] {
      Value k = mul(t, y, gather_rows(t, table, lab.indices({2, 3, 9, 30})));
      Value best = where(t, argmax(t, k, 1, true), k, 0.0);
      return sin(t, dropout(t, stream, best, 0.5));
    });
    assign_rows(t, table, lab.indices({2, 9}), 1.0);
    assign_rows(t, table, lab.indices({1, 2, 30}), 2.0);
    set = read_contracts(t);
  }

  Lab lab;
  Stream stream{"dropout", 1, 0, 0};
  Tensor table;
  Value y, held;
  ContractSet set;
};

class Explain : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, Explain,
                         ::testing::Values(Method::retain, Method::whole, Method::region, Method::mixed),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(Explain, KeptAndPreservedBytesAreThoseOfTheMeter) {
  Program program(GetParam());
  SegmentFigures total = totals_of(program.set);
  const Meter& meter = program.lab.memory.meter();
  EXPECT_EQ(total.kept(), meter.live(Category::activations));
  EXPECT_EQ(total.preserved, meter.live(Category::preserved));
  if (GetParam() == Method::whole || GetParam() == Method::region) {
    EXPECT_GT(total.preserved, 0);
  }
  Preserver::Totals live = program.lab.memory.preserver().live();
  std::int64_t data = 0, lists = 0;
  for (const PreservedObject& object : program.set.preserved) {
    data += object.data_bytes;
    lists += object.row_list_bytes;
    EXPECT_EQ(object.storage, "table");
    EXPECT_LT(object.charged_bytes - object.data_bytes - object.row_list_bytes, 64);
  }
  EXPECT_EQ(data, live.copy_bytes + live.block_bytes);
  EXPECT_EQ(lists, live.row_list_bytes);
  EXPECT_EQ(static_cast<std::int64_t>(program.set.preserved.size()), live.copies + live.blocks);
}

TEST_P(Explain, WhatTheProgramHoldsIsListedAsHeld) {
  Program program(GetParam());
  bool found = false;
  for (const KeptValue& kept : program.set.contracts[0].kept) {
    if (kept.op == "tanh") found = kept.handle;
  }
  EXPECT_TRUE(found);
  program.held.reset();
  ContractSet after = read_contracts(*program.lab.tape);
  EXPECT_EQ(totals_of(after).kept(), program.lab.memory.meter().live(Category::activations));
}

TEST(ExplainSharing, ACopyServesAllReadsOfItsClassAndBlocksOnlyTheirOwn) {
  Program whole(Method::whole);
  ASSERT_EQ(whole.set.preserved.size(), 1u) << "both segments' reads die by the same first write";
  EXPECT_TRUE(whole.set.preserved[0].whole);
  EXPECT_EQ(whole.set.preserved[0].segments, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(whole.set.preserved[0].reads, 2);
  EXPECT_EQ(describe(whole.set.preserved[0].killer), "assign_rows at (outside)#0");
  Program region(Method::region);
  std::int64_t data = 0;
  bool shared = false;
  for (const PreservedObject& object : region.set.preserved) {
    data += object.data_bytes;
    shared |= object.segments.size() == 2;
    EXPECT_FALSE(object.whole);
  }
  EXPECT_EQ(data, 4 * 3 * 8) << "rows 1, 2, 9 and 30, each once";
  EXPECT_TRUE(shared) << "row 2 is owed to both";
}

TEST(ExplainText, NamesSegmentsHoldersAndCosts) {
  Program program(Method::region);
  MeterSnapshot now = program.lab.memory.meter().snapshot();
  std::string text = explain_text({"a program", {program.set}, now, now});
  for (const char* part : {"a program\n", "segment ", "fall away", "for backward", "decisions", "handles",
                           "Preserved before the backward: ", "row lists", "assign_rows at (outside)#0",
                           "Owed: ", "host before this forward", "Predicted peak of a step: ", "activations"}) {
    EXPECT_PRED2(contains, text, std::string(part));
  }
  Program retain(Method::retain);
  retain.set.preserved.clear();
  EXPECT_PRED2(contains, explain_text({"", {retain.set}, now, now}), std::string("Nothing is preserved"));
}

TEST(ExplainJson, HasTheSameFigures) {
  Program program(Method::whole);
  MeterSnapshot now = program.lab.memory.meter().snapshot();
  std::string text = explain_json({"a program", {program.set}, now, now});
  auto json = nlohmann::json::parse(text);
  SegmentFigures total = totals_of(program.set);
  const auto& batch = json["micro_batches"][0];
  EXPECT_EQ(json["format"], "reprise-explain/1");
  EXPECT_EQ(batch["totals"]["kept_bytes"], total.kept());
  EXPECT_EQ(batch["totals"]["preserved_bytes"], total.preserved);
  std::int64_t kept = 0, away = 0;
  for (const auto& segment : batch["segments"]) {
    for (const auto& value : segment["values_kept"]) kept += value["bytes"].get<std::int64_t>();
    away += static_cast<std::int64_t>(segment["falls_away"].size());
  }
  EXPECT_EQ(kept, total.kept());
  EXPECT_GT(away, 0);
  EXPECT_EQ(batch["preserved"][0]["segments"], (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(json["peak"]["bytes"], now.total_peak);
}

}  // namespace
}  // namespace reprise
