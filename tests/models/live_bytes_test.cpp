// What a training step leaves behind: of each model type of the project, nothing after its backward but what the
// program still names, nothing after the tape is cleared, and no byte at all once the model is gone. And what its
// backward leaves alone: every parameter, buffer, optimiser state and image, the loss and the streams. Planned, as
// training is, and online.
#include <gtest/gtest.h>

#include <map>

#include "memory/byte_watch.h"
#include "models/train/batches.h"
#include "models/train/method.h"
#include "models/train/optimiser.h"
#include "models/train/session.h"
#include "models/train/step_planner.h"

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

/// A backward that changes nothing but gradients.
void differentiate_and_watch(ModelSession& session, const Optimiser& optimiser, Tape& tape, const Forward& forward,
                             const Batch& batch) {
  std::vector<NamedTensor> all = session.model->tensors();
  optimiser.list(all);
  for (const Tensor& images : batch.views) all.push_back({"the images", images});
  all.push_back({"the labels", batch.labels});
  all.push_back({"the loss", forward.loss.tensor()});
  ByteWatch watch;
  for (const NamedTensor& named : all) watch.note(named.name, named.tensor);
  EXPECT_GT(watch.size(), session.model->parameters().parameters().size());
  std::vector<std::uint64_t> positions;
  for (const Stream* stream : session.model->streams()) positions.push_back(stream->position);
  tape.backward(forward.loss);
  EXPECT_EQ(watch.difference(), "");
  std::size_t at = 0;
  for (const Stream* stream : session.model->streams()) EXPECT_EQ(stream->position, positions[at++]) << stream->name;
}

void train_one_step(ModelSession& session, const Dataset& data, bool planned) {
  const Config& config = session.config;
  Meter& meter = session.memory.meter();
  SegmentMarks marks(config, session.model->segment_names());
  RecomputeSetup recompute(config, marks);
  Optimiser optimiser(config, *session.model, session.memory);
  Batches batches(*session.model, data.train, loader_options(config, *session.model), session.memory);
  StepPlanner planner(config);
  Tape tape(session.memory);
  recompute.install(tape, session.memory);
  optimiser.clear_gradients();
  const Batch& batch = batches.next();
  std::int64_t before = meter.live();
  if (planned) tape.follow(&planner.schedule(session.model->host_state()));
  Forward forward = session.model->forward(tape, batch, marks);
  EXPECT_GT(meter.live(), before);
  differentiate_and_watch(session, optimiser, tape, forward, batch);
  std::int64_t held = round_up_64(forward.loss.tensor().bytes()) + constant_bytes(tape);
  EXPECT_EQ(meter.live(), before + held) << meter.describe_live();
  forward = {};
  tape.clear();
  EXPECT_EQ(meter.live(), before) << meter.describe_live();
  optimiser.step(1, 0.01, 1);
  session.model->after_step();
  EXPECT_EQ(meter.live(), before) << meter.describe_live();
}

void train_and_free(const std::string& type, const std::string& method, bool planned) {
  SCOPED_TRACE(type + ", " + method + (planned ? ", planned" : ", online"));
  std::vector<std::string> keys = small_sizes().at(type);
  for (const std::string& key : {"model.type=" + type, "recompute.method=" + method, std::string("train.batch=16"),
                                 std::string("threads=1"), std::string("recompute.segments=blocks")}) {
    keys.push_back(key);
  }
  Config config = load_config("", keys);
  ModelSession session(config);
  Dataset data = load_dataset(config, *session.model);
  train_one_step(session, data, planned);
  EXPECT_GT(session.memory.meter().live(), 0);
  session.model.reset();
  EXPECT_EQ(session.memory.meter().live(), 0) << session.memory.meter().describe_live();
}

TEST(LiveBytes, AStepLeavesNothingBehindAndAModelThatIsFreedNoByte) {
  for (const ModelType& type : project_model_types()) {
    ASSERT_TRUE(small_sizes().contains(type.name)) << "a new model type needs small sizes here: " << type.name;
    for (const char* method : {"retain", "whole", "region"}) {
      train_and_free(type.name, method, false);
      train_and_free(type.name, method, true);
    }
  }
}

}  // namespace
}  // namespace reprise
