// The workloads around a memory: they train without images, every method gives the same bytes, and the predicted peak
// is the measured one, or bounds it where rows follow from data.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/check/check.h"
#include "models/check/halfway_plans.h"
#include "models/run/run_folder.h"
#include "models/train/method.h"
#include "models/train/session.h"
#include "models/train/step_planner.h"
#include "models/train/trace_step.h"
#include "recompute/contract_json.h"
#include "recompute/planning/plan_text.h"
#include "tests/models/own_budgets.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

using Overrides = std::vector<std::string>;

struct Kind {
  const char* name;
  const char* model;
  bool exact;
};

const Kind kKinds[] = {
    {"row_memory",
     "{type: row_memory, layers: 3, width: 8, hidden: 6, table: {rows: 60, width: 5}, reads: 3, writes: 7}", true},
    // More rows written than there are examples.
    {"row_memory, much written",
     "{type: row_memory, layers: 2, width: 8, hidden: 6, table: {rows: 60, width: 8}, reads: 2, writes: 50}", true},
    {"graph_memory", "{type: graph_memory, layers: 3, width: 6, table: {rows: 40, width: 5}}", true},
    {"slot_cache", "{type: slot_cache, layers: 3, width: 8, hidden: 6, table: {rows: 21, width: 6}, span: 4}", true},
    {"product_key_memory",
     "{type: product_key_memory, layers: 3, width: 8, hidden: 6, keys: 5, key_width: 4, table: {width: 6}, reads: 3}",
     false},
};

std::string text_of(const Kind& kind) {
  return fmt::format("seed: 3\nthreads: 1\nmodel: {}\ntrain: {{epochs: 4, batch: 16, lr: 0.05, checkpoint_every: 2}}\n",
                     kind.model);
}

Config config_of(const Kind& kind, const Overrides& overrides = {}) {
  return parse_config(text_of(kind), "tiny.yaml", overrides);
}

TEST(MemoryModels, PassTheCheckOfTheirMethodsAndGradients) {
  for (const Kind& kind : kKinds) {
    EquivalenceReport report = check_model(config_of(kind));
    for (const EquivalenceRow& row : report.rows)
      EXPECT_TRUE(row.good) << kind.name << ", " << row.what << ": " << row.difference;
  }
}

TEST(MemoryModels, TrainWithoutImagesAndLearn) {
  for (const Kind& kind : kKinds) {
    TempFolder folder;
    Json summary = run_tiny(text_of(kind).c_str(), folder / "run", {"train.epochs=20"}).summary;
    EXPECT_EQ(summary["steps"], 20);
    EXPECT_FALSE(summary.contains("probe"));
    EXPECT_FALSE(summary["train"].contains("images_per_second"));
    EXPECT_EQ(summary["train"]["examples"], 20 * 16);
    EXPECT_GT(summary["train"]["examples_per_second"].get<double>(), 0);
    std::vector<std::string> lines = deterministic_lines(folder / "run");
    EXPECT_LT(summary["train"]["loss"].get<double>(), Json::parse(lines.front())["loss"].get<double>()) << kind.name;
  }
}

TEST(MemoryModels, ARunThatIsResumedEndsInTheSameBytes) {
  for (const Kind& kind : kKinds) {
    TempFolder scratch;
    Overrides region = {"recompute.method=region", "train.optimiser=adamw", "train.accumulate=2", "train.epochs=12"};
    Json whole = run_tiny(text_of(kind).c_str(), scratch / "whole", region).summary;
    Overrides first = region;
    first.push_back("train.max_steps=3");
    run_tiny(text_of(kind).c_str(), scratch / "run", first);
    Config config = RunFolder::read_config(scratch / "run", number_overrides({"train.max_steps=0"}));
    Json resumed = train(config, {.resume = scratch / "run", .progress = ProgressMode::quiet}).summary;
    EXPECT_EQ(resumed["steps"], 6);
    EXPECT_EQ(resumed["hash"], whole["hash"]) << kind.name;
    EXPECT_EQ(deterministic_lines(scratch / "run"), deterministic_lines(scratch / "whole")) << kind.name;
  }
}

/// Seven steps take the ring of slot_cache through all of its states; the peak is that of the worst.
TEST(MemoryModels, ARunGoesOnWithItsOwnSeedOnly) {
  for (const Kind& kind : kKinds) {
    TempFolder scratch;
    fs::path folder = scratch / "run";
    run_tiny(text_of(kind).c_str(), folder, {"train.max_steps=2"});
    const std::string before = file_text(folder / "config.yaml"), lines = file_text(folder / "metrics.jsonl");
    Config other = RunFolder::read_config(folder, number_overrides({"train.max_steps=0", "seed=4"}));
    std::string text =
        error_of_kind(ErrorKind::config, [&] { train(other, {.resume = folder, .progress = ProgressMode::quiet}); });
    EXPECT_PRED2(contains, text, "command line argument 2: seed=4:6: seed = 4: expected 3, with which the run began");
    EXPECT_EQ(file_text(folder / "config.yaml"), before);
    EXPECT_EQ(file_text(folder / "metrics.jsonl"), lines);
  }
}

TEST(MemoryModels, ThePeakIsPredictedForEveryMethodAndBudget) {
  for (const Kind& kind : kKinds) {
    TempFolder folder;
    Config config = config_of(kind);
    RunPlanner planner(config, even_profile(config));
    std::int64_t low = planner.least("joint").predicted_peak, high = planner.plan("joint", 0).plan->predicted_peak;
    ASSERT_LT(low, high) << kind.name;
    Json hash;
    for (const std::string& method : plannable_methods()) {
      std::set<std::int64_t> tested;
      for (std::int64_t budget : own_budgets(planner, method, 8)) {
        Planner::Answer answer = planner.plan(method, budget);
        ASSERT_TRUE(answer.plan) << kind.name << ", " << method << " at " << budget << ": " << answer.none.message;
        EXPECT_LE(answer.plan->predicted_peak, budget) << kind.name << ", " << method;
        std::ofstream(folder / "plan.json") << to_json(*answer.plan);
        Json summary = run_tiny(text_of(kind).c_str(), folder / (method + std::to_string(budget)),
                                {"train.epochs=7", "train.max_steps=7", "train.checkpoint_every=100",
                                 "recompute.plan=" + (folder / "plan.json").string()})
                           .summary;
        auto peak = summary["memory"]["peak_bytes"].get<std::int64_t>();
        EXPECT_LE(peak, answer.plan->predicted_peak) << kind.name << ", " << method;
        if (kind.exact) {
          EXPECT_EQ(peak, answer.plan->predicted_peak) << kind.name << ", " << method;
        }
        if (hash.is_null()) hash = summary["hash"];
        EXPECT_EQ(summary["hash"], hash) << kind.name << ", " << method;
        tested.insert(budget);
      }
      EXPECT_EQ(tested.size(), 8u) << kind.name << ", " << method;
    }
  }
}

/// Eleven layers read rows at random, so that a layer's written rows fall into hundreds of records, more than the
/// planner takes one by one: what it promises must stay exact, and above the least budget there must always be a plan.
TEST(MemoryModels, ThePeakIsPredictedWhereRecordsAreManyAndSmall) {
  const char* text =
      "model: {type: row_memory, layers: 11, width: 8, hidden: 8, table: {rows: 800, width: 8}, reads: 4, writes: 200}\n"
      "threads: 1\ntrain: {batch: 128, max_steps: 2, epochs: 2}\n";
  TempFolder folder;
  Config config = tiny_config(text, folder / "none");
  RunPlanner planner(config, even_profile(config));
  std::int64_t low = planner.least("region").predicted_peak, high = planner.plan("retain", 0).plan->predicted_peak;
  ASSERT_LT(low, high);
  const auto& objects = planner.planner().problem().instance().objects;
  auto records =
      std::count_if(objects.begin(), objects.end(), [](const auto& o) { return o.name.starts_with("record of"); });
  EXPECT_LE(records, 11 * 12 / 2) << "one for each write and the layer that needs it last";
  for (const std::string method : {"region", "retain+region", "joint"}) {
    for (int i = 0; i < 5; ++i) {
      Planner::Answer answer = planner.plan(method, low + (high - low) * i / 4);
      ASSERT_TRUE(answer.plan) << method << " " << i;
      std::ofstream(folder / "plan.json") << to_json(*answer.plan);
      Json summary =
          run_tiny(text, folder / (method + std::to_string(i)), {"recompute.plan=" + (folder / "plan.json").string()})
              .summary;
      EXPECT_EQ(summary["memory"]["peak_bytes"].get<std::int64_t>(), answer.plan->predicted_peak) << method << " " << i;
    }
  }
}

/// With every row written at once, selecting saves nothing: then a record costs no more than a whole copy but for its
/// row list and rounding. With few rows written it costs far less.
TEST(MemoryModels, WithAllRowsWrittenRegionHoldsNoMoreThanWholeButForRowLists) {
  constexpr std::int64_t kLayers = 5, kRows = 640, kTable = kRows * 16 * 4;
  auto least = [](std::int64_t writes, const std::string& method) {
    Config config = load_config("", {"model.type=row_memory", "model.layers=5", "model.width=16", "model.hidden=16",
                                     "model.table.rows=640", "model.table.width=16", "model.reads=2", "train.batch=48",
                                     "threads=1", "model.writes=" + std::to_string(writes)});
    return RunPlanner(config, even_profile(config)).least(method).predicted_peak;
  };
  std::int64_t whole = least(kRows, "whole"), region = least(kRows, "region");
  EXPECT_LE(region, whole + kLayers * (kRows * 4 + 64));
  EXPECT_LT(region, whole + kTable) << "the bound above is far below one more copy";
  EXPECT_LT(least(kRows / 100, "region"), least(kRows / 100, "whole") - 2 * kTable);
}

/// A span that does not divide the ring: where it comes round, a write is two runs of rows and its records are larger.
TEST(MemoryModels, ABudgetThatOnlyTheFirstStepFitsIsRefusedBeforeAnythingRuns) {
  const Kind& ring = kKinds[3];
  ASSERT_EQ(std::string(ring.name), "slot_cache");
  auto with = [&](const std::string& method, std::int64_t budget) {
    Overrides all = {"model.span=5", "train.epochs=8", "recompute.method=" + method};
    if (budget > 0) all.push_back("memory.budget=" + std::to_string(budget));
    return all;
  };
  TempFolder folder;
  Config config = config_of(ring, with("region", 0));
  StepPlanner planner(config);
  std::int64_t first = planner.first().peak.total_peak, worst = planner.worst().total_peak;
  ASSERT_LT(first, worst);
  EXPECT_EQ(run_tiny(text_of(ring).c_str(), folder / "fits", with("region", worst)).summary["memory"]["peak_bytes"],
            worst);
  auto refusal = [&](const std::string& method, std::int64_t budget) {
    ErrorKind kind = ErrorKind::internal;
    std::string text = error_of([&] { run_tiny(text_of(ring).c_str(), folder / "run", with(method, budget)); }, &kind);
    EXPECT_EQ(kind, ErrorKind::config) << text;
    EXPECT_FALSE(fs::exists(folder / "run")) << text;
    return text;
  };
  std::string text = refusal("region", worst - 1);
  EXPECT_TRUE(contains(text, fmt::format("smallest feasible budget is {} bytes", worst))) << text;
  EXPECT_TRUE(contains(text, "The step that binds: ")) << text;
  text = refusal("whole", worst);
  EXPECT_TRUE(contains(text, "It would fit with region allowed")) << text;
}

TEST(MemoryModels, ADryTraceKnowsTheRowsThatAreFixed) {
  for (const Kind& kind : kKinds) {
    Config config = config_of(kind, {"recompute.method=region"});
    TracedStep traced = trace_step(config);
    EXPECT_EQ(traced.exact, kind.exact) << kind.name;
    if (!kind.exact) continue;
    ModelSession session(config);
    name_storages(*session.model);
    SegmentMarks marks(config, session.model->segment_names());
    RecomputeSetup recompute(config, marks);
    Tape tape(session.memory);
    recompute.install(tape, session.memory);
    Forward forward = session.model->forward(tape, Batch{}, marks);
    EXPECT_EQ(trace_fingerprint(read_contracts(tape).contracts), trace_fingerprint(traced.micro_batches[0].contracts))
        << kind.name;
  }
}

TEST(MemoryModels, OfAFewWrittenRowsRegionPreservesFarLessThanWhole) {
  auto preserved = [](const std::string& method) {
    Config config = parse_config(
        "model: {type: row_memory, layers: 3, width: 16, table: {rows: 4000, width: 16}, writes: 40}\ntrain: {batch: 64}",
        "tiny.yaml", {"recompute.method=" + method});
    return trace_step(config).after_forward.live[static_cast<std::size_t>(Category::preserved)];
  };
  EXPECT_EQ(preserved("retain"), 0);
  EXPECT_EQ(preserved("whole"), 3 * 4000 * 16 * 4);
  EXPECT_GT(preserved("region"), 0);
  EXPECT_LT(preserved("region"), preserved("whole") / 20);
}

TEST(MemoryModels, SizesThatCannotBeAreNamed) {
  auto refused = [](const std::string& model) {
    Config config = parse_config("model: " + model, "tiny.yaml");
    ErrorKind kind = ErrorKind::internal;
    std::string text = error_of([&] { make_model(config); }, &kind);
    EXPECT_EQ(kind, ErrorKind::config);
    return text;
  };
  EXPECT_TRUE(contains(refused("{type: row_memory, table: {rows: 10}, writes: 11}"), "model.writes"));
  EXPECT_TRUE(contains(refused("{type: row_memory, width: 4, table: {width: 5}}"), "model.table.width"));
  EXPECT_TRUE(contains(refused("{type: product_key_memory, keys: 4, reads: 5}"), "model.reads"));
  EXPECT_TRUE(contains(refused("{type: slot_cache, table: {rows: 4}, span: 5}"), "model.span"));
}

}  // namespace
}  // namespace reprise
