// A guarded step knows every parameter, buffer, optimiser state and stream of its model from the first op on.
#include "models/train/watch_states.h"

#include <algorithm>

#include "autograd/guard.h"
#include "models/check/method_run.h"
#include "models/train/session.h"
#include "tests/autograd/lying_ops.h"
#include "tests/models/pixel_model.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

/// Its first op reaches for what only a later op of the step is given, or no op at all.
class ReachingModel final : public PixelModel {
 public:
  explicit ReachingModel(const Config& config) : PixelModel(config), idle_(set_.add_buffer("idle", DType::f32, {4})) {}
  std::vector<Stream*> streams() override { return {&stream_}; }
  Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) override {
    lying::hidden = {};
    Value small = pooled(tape, batch);
    if (reach == "stream") {
      lying::hidden.stream = &stream_;
      small = tape.apply_one(lying::kTakesNumbers, {small});
    } else if (!reach.empty()) {
      lying::hidden.data = reinterpret_cast<float*>(find(reach).storage().raw());
      small = tape.apply_one(reads ? lying::kReadsHidden : lying::kWritesHidden, {small});
    }
    return {marks.run(tape, "all", [&] { return loss(tape, small, batch); }), std::nullopt};
  }
  Json evaluate(const EvaluationContext&) override { return {{"reached", 1.0}}; }

  static inline std::string reach;
  static inline bool reads = false;

 private:
  Tensor find(const std::string& name) {
    for (const NamedTensor& named : tensors()) {
      if (named.name == name) return named.tensor;
    }
    ADD_FAILURE() << "no " << name;
    return {};
  }

  Buffer& idle_;
  Stream stream_{"reached", 1, 2, 0};
};

const char* const kReaching = R"(model: {type: reaching}
threads: 1
guard: on
data: {limit: 64, prefetch: 1, synthetic: {train: 200, test: 100}}
train: {batch: 16, epochs: 1, warmup_steps: 0, max_steps: 2, accumulate: 2}
)";

class WatchStates : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_model({.name = "reaching", .summary = "a test", .keys = {}, .defaults = {}},
                   [](const Config& config) { return std::make_unique<ReachingModel>(config); });
  }
  void TearDown() override {
    ReachingModel::reach = "";
    ReachingModel::reads = false;
    lying::hidden = {};
  }
  std::string error_of_training(const std::string& reach, bool reads = false) {
    ReachingModel::reach = reach;
    ReachingModel::reads = reads;
    Config config = tiny_config(kReaching, scratch_ / "run");
    return error_of_kind(ErrorKind::internal, [&] { train(config, {.resume = {}, .progress = ProgressMode::quiet}); });
  }

  TempFolder scratch_;
};

TEST_F(WatchStates, AnHonestModelTrainsGuarded) { run_tiny(kReaching, scratch_ / "run"); }

TEST_F(WatchStates, AWriteToAParameterThatNoEarlierOpWasGivenIsCaught) {
  std::string text = error_of_training("layer.weight");
  EXPECT_PRED2(contains, text, "[writes_hidden] writes bytes [8, 12) of storage 'layer.weight'");
}

TEST_F(WatchStates, AReadOfABufferThatNoOpIsGivenIsCaught) {
  std::string text = error_of_training("idle", true);
  EXPECT_PRED2(contains, text, "[reads_hidden] reads storage 'idle'");
}

TEST_F(WatchStates, AStreamThatMovesBesideTheContractIsNamedWithItsOp) {
  std::string text = error_of_training("stream");
  EXPECT_PRED2(contains, text, "[takes_numbers] takes 3 numbers of stream 'reached'");
}

TEST_F(WatchStates, WithoutGuardNobodyLooks) {
  ReachingModel::reach = "idle";
  run_tiny(kReaching, scratch_ / "run", {"guard=off"});
}

TEST_F(WatchStates, AGuardedStepOfACheckCatchesItToo) {
  ReachingModel::reach = "layer.weight";
  Config config = tiny_config(kReaching, scratch_ / "run");
  Dataset data = load_dataset(config, *make_model(config));
  MethodSettings guarded;
  guarded.guard = true;
  guarded.steps = 1;
  guarded.batch = 4;
  std::string text = error_of_kind(ErrorKind::internal, [&] { run_method(config, data, guarded); });
  EXPECT_PRED2(contains, text, "storage 'layer.weight'");
}

TEST_F(WatchStates, OptimiserStateIsWatchedWithTheModel) {
  Config config = tiny_config(kReaching, scratch_ / "run");
  Memory memory;
  ReachingModel model(config);
  model.allocate(memory);
  Optimiser optimiser(config, model, memory);
  Tape tape(memory, {.guard = true}), plain(memory);
  watch_states(tape, model, optimiser);
  watch_states(plain, model, optimiser);
  std::vector<NamedTensor> all = model.tensors();
  std::size_t states = all.size();
  optimiser.list(all);
  ASSERT_GT(all.size(), states);
  const std::vector<StorageRef>& watched = tape.guard()->watched();
  for (const NamedTensor& named : all) {
    bool found = std::find(watched.begin(), watched.end(), named.tensor.storage_ref()) != watched.end();
    EXPECT_TRUE(found) << named.name;
  }
  EXPECT_EQ(plain.guard(), nullptr);
}

}  // namespace
}  // namespace reprise
