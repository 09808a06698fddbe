// What a training step leaves behind: of each model type of the project, nothing after its backward but what the
// program still names, nothing after the tape is cleared, and no byte at all once the model is gone.
#include <gtest/gtest.h>

#include <map>

#include "models/train/batches.h"
#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/session.h"

namespace reprise {
namespace {

const std::map<std::string, std::vector<std::string>>& small_sizes() {
  static const std::vector<std::string> encoder = {"model.encoder.widths=[4,8]", "model.encoder.blocks=1",
                                                   "model.dropout=0.2", "data.synthetic.train=100",
                                                   "data.synthetic.test=100"};
  static const std::map<std::string, std::vector<std::string>> all = [] {
    std::map<std::string, std::vector<std::string>> sizes = {
        {"dense_queue", encoder},
        {"classifier", encoder},
        {"row_memory", {"model.table.rows=60", "model.table.width=5", "model.reads=3", "model.writes=7"}},
        {"graph_memory", {"model.table.rows=40", "model.table.width=5"}},
        {"slot_cache", {"model.table.rows=21", "model.table.width=6", "model.span=4"}},
        {"product_key_memory", {"model.keys=5", "model.key_width=4", "model.table.width=6", "model.reads=3"}}};
    for (const char* key : {"model.projection.hidden=8", "model.projection.out=4", "model.queue.size=48"})
      sizes["dense_queue"].emplace_back(key);
    for (const char* type : {"row_memory", "graph_memory", "slot_cache", "product_key_memory"}) {
      for (const char* key : {"model.layers=3", "model.width=8"}) sizes[type].emplace_back(key);
    }
    return sizes;
  }();
  return all;
}

/// Of values that the tape itself keeps until it is cleared: numbers among operands.
std::int64_t constant_bytes(const Tape& tape) {
  std::int64_t bytes = 0;
  for (const auto& [number, tensor] : tape.data().constants) bytes += round_up_64(tensor.bytes());
  return bytes;
}

void train_one_step(ModelSession& session, const Dataset& data) {
  const Config& config = session.config;
  Meter& meter = session.memory.meter();
  SegmentMarks marks(config, session.model->segment_names());
  RecomputeSetup recompute(config, marks);
  Optimiser optimiser(config, *session.model, session.memory);
  Batches batches(*session.model, data.train, loader_options(config, *session.model), session.memory);
  Tape tape(session.memory);
  recompute.install(tape, session.memory);
  optimiser.clear_gradients();
  const Batch& batch = batches.next();
  std::int64_t before = meter.live();
  Forward forward = session.model->forward(tape, batch, marks);
  EXPECT_GT(meter.live(), before);
  tape.backward(forward.loss);
  std::int64_t held = round_up_64(forward.loss.tensor().bytes()) + constant_bytes(tape);
  EXPECT_EQ(meter.live(), before + held) << meter.describe_live();
  forward = {};
  tape.clear();
  EXPECT_EQ(meter.live(), before) << meter.describe_live();
  optimiser.step(1, 0.01, 1);
  session.model->after_step();
  EXPECT_EQ(meter.live(), before) << meter.describe_live();
}

TEST(LiveBytes, AStepLeavesNothingBehindAndAModelThatIsFreedNoByte) {
  for (const ModelType& type : project_model_types()) {
    auto sizes = small_sizes().find(type.name);
    ASSERT_NE(sizes, small_sizes().end()) << "a new model type needs small sizes here: " << type.name;
    for (const char* method : {"retain", "whole", "region"}) {
      SCOPED_TRACE(type.name + ", " + method);
      std::vector<std::string> keys = sizes->second;
      for (const std::string& key :
           {"model.type=" + type.name, "recompute.method=" + std::string(method), std::string("train.batch=16"),
            std::string("threads=1"), std::string("recompute.segments=blocks")}) {
        keys.push_back(key);
      }
      Config config = load_config("", keys);
      ModelSession session(config);
      Dataset data = load_dataset(config, *session.model);
      train_one_step(session, data);
      EXPECT_GT(session.memory.meter().live(), 0);
      session.model.reset();
      EXPECT_EQ(session.memory.meter().live(), 0) << session.memory.meter().describe_live();
    }
  }
}

}  // namespace
}  // namespace reprise
