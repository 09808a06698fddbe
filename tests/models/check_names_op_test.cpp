// The check names the op behind a difference: a model that does otherwise as soon as its segments are marked, in one
// way after the other, beside the same model without marks.
#include <gtest/gtest.h>

#include "models/check/check.h"
#include "models/train/session.h"
#include "ops/draws.h"
#include "ops/state.h"
#include "tests/models/pixel_model.h"
#include "tests/support/text.h"

namespace reprise {
namespace {

using testing::contains;

/// Counts its steps, averages an input and draws numbers, all behind the loss, so that no gradient shows what it does
/// there.
class LyingModel final : public testing::PixelModel {
 public:
  explicit LyingModel(const Config& config)
      : PixelModel(config), total_(set_.add_buffer("total", DType::f32, {1})), stream_(named_stream("noise", 1)) {}
  std::vector<Stream*> streams() override { return {&stream_}; }
  Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) override {
    std::string lie = marks.marked().empty() ? "none" : config_.get_string("lying.lie");
    Forward forward = PixelModel::forward(tape, batch, marks);
    add_into(tape, total_.tensor, 1.0);
    if (lie == "write") mul_into(tape, total_.tensor, 3.0);
    mul_into(tape, total_.tensor, lie == "value" ? 5.0 : 2.0);
    if (lie == "undone") {
      mul_into(tape, total_.tensor, 2.0);
      mul_into(tape, total_.tensor, 0.5);
    }
    if (lie == "host" && !tape.memory().is_dry()) total_.tensor.host_write<float>("a lie")[0] = 7.0f;
    uniform(tape, stream_, {lie == "draw" ? 3 : 2});
    if (lie == "position") stream_.position += 1;
    return forward;
  }

 private:
  Buffer& total_;
  Stream stream_;
};

class CheckNamesTheOp : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_model({.name = "lying",
                    .summary = "a test",
                    .keys = {text_key("lying.lie", "none", "what it does otherwise in segments")},
                    .defaults = {}},
                   [](const Config& config) { return std::make_unique<LyingModel>(config); });
  }
  /// What is said of a run with marked segments beside one without.
  static std::string difference(const std::string& lie) {
    Config config = load_config("", {"model.type=lying", "lying.lie=" + lie, "train.batch=8", "threads=1",
                                     "data.synthetic.train=100", "data.synthetic.test=100", "train.warmup_steps=0"});
    Dataset data = load_dataset(config, *make_model(config));
    MethodSettings settings;
    settings.steps = 2;
    settings.segments = false;
    MethodMarks expected = run_method(config, data, settings);
    settings.segments = true;
    settings.method = "whole";
    return first_difference(expected, run_method(config, data, settings));
  }
};

TEST_F(CheckNamesTheOp, ThatWroteAState) {
  EXPECT_EQ(difference("none"), "");
  std::string value = difference("value");
  EXPECT_TRUE(contains(value, "step 1: state of total, written otherwise by mul_into (node ")) << value;
  std::string more = difference("write");
  EXPECT_TRUE(contains(more, "step 1: state of total, written otherwise by mul_into (node ")) << more;
}

TEST_F(CheckNamesTheOp, BehindWhichAStateChanged) {
  std::string host = difference("host");
  EXPECT_TRUE(contains(host, "step 1: state of total, changed after it was last written by mul_into (node ")) << host;
}

TEST_F(CheckNamesTheOp, ThatDrew) {
  std::string draw = difference("draw");
  EXPECT_TRUE(contains(draw, "step 1: position of noise, drawn from otherwise by uniform (node ")) << draw;
  std::string moved = difference("position");
  EXPECT_TRUE(contains(moved, "step 1: position of noise, changed after it was last drawn from by uniform (node "))
      << moved;
}

TEST_F(CheckNamesTheOp, ThatTheLogDoesNotExpect) {
  std::string undone = difference("undone");
  EXPECT_TRUE(contains(undone, "step 1: log of effects: mul_into (node ")) << undone;
  EXPECT_TRUE(contains(undone, " instead of uniform (node ")) << undone;
}

TEST(CheckLog, SaysWhatAnOpDidOtherwise) {
  EffectMarks expected = {{.node = 4, .op = "add_into", .segment = "head", .writes = {{"total", 1}}, .runs = 1},
                          {.node = 5, .op = "uniform", .stream = "noise", .position = 8, .count = 2}};
  auto said = [&](auto&& change) {
    EffectMarks found = expected;
    change(found);
    return differing_effect(expected, found);
  };
  EXPECT_EQ(said([](EffectMarks&) {}), "");
  EXPECT_EQ(said([](EffectMarks& all) { all[0].runs = 2; }), "add_into (node 4 in head) ran 2 times instead of 1 time");
  EXPECT_EQ(said([](EffectMarks& all) { all[0].writes[0].hash = 2; }),
            "add_into (node 4 in head) left other bytes in total");
  EXPECT_EQ(said([](EffectMarks& all) { all[1].position = 6; }),
            "uniform (node 5) drew 2 numbers from position 6 of noise instead of 2 numbers from position 8 of noise");
  EXPECT_EQ(said([](EffectMarks& all) { all.pop_back(); }), "uniform (node 5) is missing");
}

}  // namespace
}  // namespace reprise
