#include "models/check/check.h"

#include <gtest/gtest.h>

#include "core/interrupt.h"

namespace reprise {
namespace {

Config tiny(std::vector<std::string> more = {}) {
  std::vector<std::string> keys = {"model.encoder.widths=[4,6]",
                                   "model.encoder.blocks=1",
                                   "model.projection.hidden=8",
                                   "model.projection.out=6",
                                   "model.queue.size=24",
                                   "train.batch=8",
                                   "data.synthetic.train=100",
                                   "data.synthetic.test=100",
                                   "train.warmup_steps=0",
                                   "model.dropout=0.2",
                                   "threads=1"};
  keys.insert(keys.end(), more.begin(), more.end());
  return load_config("", keys);
}

void expect_good(const EquivalenceReport& report) {
  for (const EquivalenceRow& row : report.rows) EXPECT_TRUE(row.good) << row.what << ": " << row.difference;
}

TEST(Check, DenseQueueIsTheSameUnderEveryMethod) {
  for (const char* layout : {"model.queue.layout=ring", "model.queue.layout=shift"}) {
    for (const char* losses : {"model.losses=1", "model.losses=2"})
      expect_good(check_model(tiny({layout, losses, "train.accumulate=2"})));
  }
}

TEST(Check, ClassifierIsTheSameUnderEveryMethod) {
  EquivalenceOptions options;
  Config config =
      load_config("", {"model.type=classifier", "model.encoder.widths=[4,6]", "model.encoder.blocks=1", "train.batch=8",
                       "data.synthetic.train=100", "data.synthetic.test=100", "model.dropout=0.2", "threads=1"});
  expect_good(check_model(config, options));
}

// What is smooth, so that no step of a difference crosses a kink.
TEST(Check, EncodersOfOtherLayersAreTheSameUnderEveryMethod) {
  const std::vector<std::string> group = {"model.encoder.norm=group", "model.encoder.groups=2",
                                          "model.encoder.activation=silu"};
  expect_good(check_model(tiny(group)));
  expect_good(check_model(tiny({"model.encoder.activation=silu", "model.losses=2"})));
}

TEST(Check, MethodsThatPlanRunUnderAPlanThatReplaysSomethingAndKeepItsPeak) {
  EquivalenceReport report = check_model(tiny(), {.guarded_step = false, .finite_differences = false});
  expect_good(report);
  std::vector<std::string> planned;
  for (const EquivalenceRow& row : report.rows) {
    if (row.what.find(" at ") != std::string::npos) planned.push_back(row.what);
  }
  ASSERT_EQ(planned.size(), 4u);
  std::int64_t plain = report.rows.front().peak_bytes;
  for (const EquivalenceRow& row : report.rows) {
    bool saves = row.what.find("joint at ") == 0 || row.what.find("retain+whole at ") == 0;
    if (!saves) continue;
    EXPECT_LT(row.peak_bytes, plain) << row.what;
  }
}

TEST(Check, AGuardedStepTakesASmallMemory) {
  MethodSettings guarded;
  guarded.guard = true;
  Config own = with_settings(load_config("", {"model.type=graph_memory"}), guarded);
  EXPECT_EQ(own.get_int("model.table.rows"), 2048);
  own = with_settings(load_config("", {"model.type=row_memory", "model.table.rows=50", "model.writes=9"}), guarded);
  EXPECT_EQ(own.get_int("model.table.rows"), 50);
  EXPECT_EQ(own.get_int("model.writes"), 9);
  own = with_settings(load_config("", {"model.type=row_memory"}), {});
  EXPECT_EQ(own.get_int("model.table.rows"), 98304);
}

TEST(Check, StopsWhenAsked) {
  request_stop();
  EXPECT_THROW(check_model(tiny()), Interrupted);
  clear_stop_request();
}

TEST(Check, UncheckedReplayIsFoundAndTheFirstOpNamed) {
  EquivalenceOptions options;
  options.methods = {"unchecked"};
  options.guarded_step = options.finite_differences = false;
  EquivalenceReport report = check_model(tiny(), options);
  ASSERT_FALSE(report.good());
  EXPECT_NE(report.rows.back().difference.find("info_nce"), std::string::npos) << report.rows.back().difference;
}

}  // namespace
}  // namespace reprise
