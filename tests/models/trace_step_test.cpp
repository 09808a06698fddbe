// A dry step tells what training will hold, to the byte, and its contracts are those of the real step.
#include "models/train/trace_step.h"

#include "models/train/method.h"
#include "models/train/session.h"
#include "recompute/contract_json.h"
#include "recompute/explain.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

using Overrides = std::vector<std::string>;

Overrides with(Overrides list, const std::string& more) {
  list.push_back(more);
  return list;
}

TEST(TraceStep, PredictsThePeakOfTrainingToTheByte) {
  const std::vector<std::pair<const char*, Overrides>> runs = {
      {kTinyQueue, {}},
      {kTinyQueue,
       {"model.queue.layout=shift", "model.losses=2", "train.accumulate=2", "model.dropout=0.2",
        "train.optimiser=adamw"}},
      {kTinyQueue, {"recompute.segments=stages", "model.losses=2", "recompute.options={head: retain}"}},
      {kTinyClassifier, {"train.momentum=0", "train.nesterov=false"}},
      {kTinyClassifier, {"model.encoder.norm=group", "model.encoder.groups=2", "model.encoder.activation=silu"}},
  };
  for (const auto& [text, overrides] : runs) {
    for (const char* method : {"retain", "whole", "region"}) {
      TempFolder folder;
      Overrides all = with(with(overrides, std::string("recompute.method=") + method), "train.max_steps=2");
      Json summary = run_tiny(text, folder / "run", all).summary;
      TracedStep traced = trace_step(tiny_config(text, folder / "run", all));
      EXPECT_EQ(traced.step.total_peak, summary["memory"]["peak_bytes"].get<std::int64_t>()) << method;
    }
  }
}

TEST(TraceStep, PreservedIsWhatTheLayoutOfTheQueueCosts) {
  auto traced = [](const std::string& method, const std::string& layout) {
    return trace_step(
        parse_config(kTinyQueue, "tiny.yaml", {"recompute.method=" + method, "model.queue.layout=" + layout}));
  };
  constexpr std::int64_t kQueue = 48 * 4 * 4, kKeys = 16 * 4 * 4;
  struct Case {
    const char *method, *layout;
    std::int64_t preserved;
  };
  for (const Case& c : {Case{"region", "ring", kKeys}, Case{"whole", "ring", kQueue}, Case{"region", "shift", kQueue},
                        Case{"whole", "shift", kQueue}}) {
    TracedStep step = traced(c.method, c.layout);
    const ContractSet& set = step.micro_batches[0];
    ASSERT_EQ(set.preserved.size(), 1u);
    EXPECT_EQ(set.preserved[0].storage, "queue");
    EXPECT_EQ(set.preserved[0].data_bytes, c.preserved) << c.method << " " << c.layout;
    EXPECT_EQ(set.preserved[0].segments, std::vector<std::string>{"head"});
    SegmentFigures total = totals_of(set);
    EXPECT_EQ(total.preserved, step.after_forward.live[static_cast<std::size_t>(Category::preserved)]);
    EXPECT_EQ(total.kept(), step.after_forward.live[static_cast<std::size_t>(Category::activations)]);
  }
}

TEST(TraceStep, ContractsAreThoseOfTheRealStep) {
  for (const char* layout : {"ring", "shift"}) {
    Config config = parse_config(kTinyQueue, "tiny.yaml",
                                 {"recompute.method=region", "model.losses=2", "model.dropout=0.2",
                                  std::string("model.queue.layout=") + layout});
    TracedStep traced = trace_step(config);
    Session session(config);
    for (const NamedTensor& named : session.model->tensors()) named.tensor.storage().set_name(named.name);
    SegmentMarks marks(config, session.model->segment_names());
    RecomputeSetup recompute(config, marks);
    Loader loader(session.data.train,
                  {.batch = config.get_int("train.batch"), .views = 2, .augment = session.model->augmentation()},
                  session.memory.allocator(), session.memory.observer());
    Tape tape(session.memory);
    recompute.install(tape, session.memory);
    Forward forward = session.model->forward(tape, loader.next(), marks);
    std::vector<ReplayContract> real = read_contracts(tape).contracts;
    EXPECT_EQ(trace_fingerprint(real), trace_fingerprint(traced.micro_batches[0].contracts));
    ASSERT_EQ(real.size(), traced.micro_batches[0].contracts.size());
    for (std::size_t i = 0; i < real.size(); ++i) {
      ReplayContract& dry = traced.micro_batches[0].contracts[i];
      ASSERT_EQ(real[i].reads.size(), dry.reads.size());
      for (std::size_t r = 0; r < dry.reads.size(); ++r) {
        EXPECT_EQ(real[i].reads[r].region, dry.reads[r].region) << dry.segment << " " << dry.reads[r].storage;
        EXPECT_EQ(real[i].reads[r].storage, dry.reads[r].storage);
      }
      EXPECT_EQ(real[i].nodes, dry.nodes);
      EXPECT_EQ(real[i].kept, dry.kept) << dry.segment;
      EXPECT_EQ(real[i].effects, dry.effects);
    }
  }
}

TEST(TraceStep, KeyEncoderAndQueryEncoderAreToldApart) {
  TracedStep traced = trace_step(parse_config(kTinyQueue, "tiny.yaml"));
  const ContractNode& key = traced.micro_batches[0].contracts[0].nodes[0];
  const ContractNode& query = traced.micro_batches[0].contracts[1].nodes[0];
  EXPECT_EQ(key.operands[1], "key.backbone.stem.weight");
  EXPECT_EQ(query.operands[1], "backbone.stem.weight");
}

// Studies are frozen by a fingerprint of these keys, which a key that came later may not change.
TEST(TraceStep, KeysThatCameLaterAreListedOnlyWhereTheyChangeTheStep) {
  auto names = [](const Overrides& overrides) {
    std::string all;
    for (const auto& [name, value] : step_keys(parse_config(kTinyQueue, "tiny.yaml", overrides)))
      all += name + "=" + value + "\n";
    return all;
  };
  std::string before = names({});
  EXPECT_PRED2(contains, before, "model.encoder.blocks=1\nmodel.dropout=");
  EXPECT_EQ(names({"model.encoder.norm=batch", "model.encoder.activation=relu"}), before);
  EXPECT_PRED2(contains, names({"model.encoder.norm=group", "model.encoder.groups=2"}),
               "model.encoder.norm=group\nmodel.encoder.groups=2\nmodel.dropout=");
  EXPECT_PRED2(contains, names({"model.encoder.activation=silu"}), "model.encoder.activation=silu\n");
}

TEST(TraceStep, AMistakeInTheConfigurationIsSaidAsInTraining) {
  ErrorKind kind = ErrorKind::internal;
  std::string text = error_of(
      [] { trace_step(parse_config(kTinyQueue, "tiny.yaml", {"recompute.options={nothing: retain}"})); }, &kind);
  EXPECT_EQ(kind, ErrorKind::config);
  EXPECT_TRUE(contains(text, "expected a pattern that fits a segment")) << text;
}

}  // namespace
}  // namespace reprise
