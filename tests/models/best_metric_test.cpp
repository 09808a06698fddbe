// Care while a run trains: nearest neighbours measured on the way, the best weights kept, an early stop; all of it the
// same in a run that was resumed, and without an effect on the training itself.
#include "models/train/best_metric.h"

#include <limits>

#include "data/safetensors.h"
#include "models/eval/knn.h"
#include "models/run/run_folder.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

const std::vector<std::string> kMeasured = {"eval.knn_every=4", "eval.knn_neighbours=20", "train.keep_best=knn"};

std::vector<std::string> with(std::vector<std::string> base, const std::vector<std::string>& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

/// (step, knn) of the lines that have it.
std::vector<std::pair<std::int64_t, double>> measurements(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, double>> all;
  for (const std::string& text : deterministic_lines(folder)) {
    Json line = Json::parse(text);
    if (line.contains("knn")) all.emplace_back(line["step"].get<std::int64_t>(), line["knn"].get<double>());
  }
  return all;
}

/// Random rows around a centre for each of `labels` labels.
FeatureTable clouds(std::int64_t rows, std::int64_t width, int labels, double spread, std::uint64_t seed) {
  FeatureTable table{rows, width, {}, {}};
  Stream centres = named_stream("centres", 1), noise = named_stream("noise", seed);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t label = r % labels;
    table.labels.push_back(label);
    for (std::int64_t i = 0; i < width; ++i) {
      double centre =
          uniform_from_word(philox_word(centres.seed, centres.id, static_cast<std::uint64_t>(label * width + i)));
      double away = uniform_from_word(philox_word(noise.seed, noise.id, static_cast<std::uint64_t>(r * width + i)));
      table.values.push_back(static_cast<float>(centre - 0.5 + spread * (away - 0.5)));
    }
  }
  return table;
}

/// The published rule in plain loops and double.
double plain_knn(const FeatureTable& train, const FeatureTable& test, std::size_t k, double temperature) {
  auto row = [](const FeatureTable& table, std::int64_t r, std::int64_t i) {
    return static_cast<double>(table.values[static_cast<std::size_t>(r * table.width + i)]);
  };
  auto length = [&](const FeatureTable& table, std::int64_t r) {
    double square = 0;
    for (std::int64_t i = 0; i < table.width; ++i) square += row(table, r, i) * row(table, r, i);
    return std::sqrt(square);
  };
  std::int64_t right = 0;
  for (std::int64_t t = 0; t < test.rows; ++t) {
    std::vector<std::pair<double, std::int64_t>> near;
    for (std::int64_t r = 0; r < train.rows; ++r) {
      double dot = 0;
      for (std::int64_t i = 0; i < train.width; ++i) dot += row(train, r, i) * row(test, t, i);
      near.emplace_back(dot / length(train, r) / length(test, t), train.labels[static_cast<std::size_t>(r)]);
    }
    std::sort(near.begin(), near.end(), std::greater<>());
    std::vector<double> votes(100, 0.0);
    for (std::size_t i = 0; i < std::min(k, near.size()); ++i)
      votes[static_cast<std::size_t>(near[i].second)] += std::exp(near[i].first / temperature);
    right += std::max_element(votes.begin(), votes.end()) - votes.begin() == test.labels[static_cast<std::size_t>(t)];
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(test.rows);
}

TEST(Knn, FollowsThePublishedRule) {
  FeatureTable train = clouds(700, 12, 10, 2.5, 2), test = clouds(300, 12, 10, 2.5, 3);
  for (std::int64_t k : {1, 20, 200, 5000}) {
    double expected = plain_knn(train, test, static_cast<std::size_t>(k), 0.1);
    EXPECT_GT(expected, 20);
    EXPECT_LT(expected, 99);
    EXPECT_NEAR(knn_accuracy(train, test, {k, 0.1}), expected, 1e-9) << k;
  }
  EXPECT_EQ(knn_accuracy(train, clouds(200, 12, 10, 0.01, 4), {20, 0.1}), 100.0);
}

TEST(Knn, RowsOfNoNumbersAreFartherThanAllOthers) {
  FeatureTable test = clouds(200, 12, 10, 0.01, 4), sound = clouds(700, 12, 10, 0.01, 2), mixed = sound;
  double expected = knn_accuracy(sound, test, {20, 0.1});
  EXPECT_EQ(expected, 100.0);
  FeatureTable spoiled = clouds(700, 12, 10, 0.01, 5);
  for (std::size_t i = 0; i < spoiled.values.size(); i += 7)
    spoiled.values[i] = i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  for (std::int64_t& label : spoiled.labels) label = 99;
  // Among the sound rows, in no order.
  mixed.rows += spoiled.rows;
  mixed.values.clear();
  mixed.labels.clear();
  for (std::int64_t r = 0; r < mixed.rows; ++r) {
    const FeatureTable& from = r % 2 == 0 ? spoiled : sound;
    auto begin = from.values.begin() + r / 2 * from.width;
    mixed.values.insert(mixed.values.end(), begin, begin + from.width);
    mixed.labels.push_back(from.labels[static_cast<std::size_t>(r / 2)]);
  }
  EXPECT_EQ(knn_accuracy(mixed, test, {20, 0.1}), expected);
}

TEST(Knn, MeasuringChangesNothingOfTheTraining) {
  TempFolder scratch;
  for (const char* text : {kTinyQueue, kTinyClassifier}) {
    fs::path plain = scratch / (std::string("plain") + text[30]), measured = scratch / (std::string("knn") + text[30]);
    Json without = run_tiny(text, plain, {"recompute.method=region"}).summary;
    Json summary = run_tiny(text, measured, with(kMeasured, {"recompute.method=region"})).summary;
    EXPECT_EQ(without["hash"], summary["hash"]);
    EXPECT_EQ(without["memory"]["peak_bytes"], summary["memory"]["peak_bytes"]);
    EXPECT_TRUE(without["best"].is_null());
    auto found = measurements(measured);
    ASSERT_GE(found.size(), 2u);
    for (std::size_t i = 0; i + 1 < found.size(); ++i)
      EXPECT_EQ(found[i].first, static_cast<std::int64_t>(4 * (i + 1)));
    EXPECT_EQ(found.back().first, summary["steps"]);
    fs::remove_all(plain), fs::remove_all(measured);
  }
}

TEST(BestMetric, TheWeightsOfTheBestLineStay) {
  TempFolder scratch;
  for (const std::string metric : {"knn", "loss"}) {
    fs::path folder = scratch / metric;
    Json summary =
        run_tiny(
            kTinyQueue, folder,
            with(kMeasured, {"train.keep_best=" + metric, "train.checkpoint_every=1", "train.checkpoints_kept=100"}))
            .summary;
    double best = 0;
    std::int64_t step = 0;
    for (const std::string& text : deterministic_lines(folder)) {
      Json line = Json::parse(text);
      if (!line.contains(metric)) continue;
      double value = line[metric].get<double>();
      if (step == 0 || (metric == "loss" ? value < best : value > best))
        best = value, step = line["step"].get<std::int64_t>();
    }
    EXPECT_EQ(summary["best"], (Json{{"metric", metric}, {"value", best}, {"step", step}}));
    SafetensorsFile kept(folder / kBestFile);
    SafetensorsFile then(folder / fmt::format("checkpoint-{:08}.safetensors", step));
    EXPECT_EQ(kept.metadata().at("step"), std::to_string(step));
    ASSERT_FALSE(kept.tensors().empty());
    for (const auto& [name, info] : kept.tensors()) {
      std::vector<char> a(static_cast<std::size_t>(info.end - info.begin)), b(a.size());
      Shape shape(info.shape);
      kept.read_into(name, *info.dtype, shape, a.data());
      then.read_into(name, *info.dtype, shape, b.data());
      EXPECT_EQ(a, b) << name;
    }
    run_tiny(kTinyQueue, folder / "next", {"model.init=" + (folder / kBestFile).string(), "train.max_steps=1"});
  }
}

TEST(BestMetric, ARunStopsEarlyWhereItsLinesSaySo) {
  TempFolder scratch;
  run_tiny(kTinyQueue, scratch / "whole", with(kMeasured, {"eval.knn_every=1"}));
  auto lines = measurements(scratch / "whole");
  for (int patience : {1, 2, 3}) {
    std::int64_t expected = lines.back().first;
    double best = -1;
    int waited = 0;
    for (auto [step, value] : lines) {
      waited = value > best ? 0 : waited + 1;
      best = std::max(best, value);
      if (waited == patience) {
        expected = step;
        break;
      }
    }
    std::vector<std::string> stopping =
        with(kMeasured, {"eval.knn_every=1", "train.early_stop=" + std::to_string(patience)});
    fs::path folder = scratch / ("early" + std::to_string(patience));
    Json summary = run_tiny(kTinyQueue, folder, stopping).summary;
    EXPECT_EQ(summary["steps"], expected);
    EXPECT_EQ(summary["best"]["value"], best);
    // Where it stopped it stays.
    Config config = RunFolder::read_config(folder, {});
    EXPECT_EQ(train(config, {.resume = folder, .progress = ProgressMode::quiet}).summary["hash"], summary["hash"]);
    // Stopped anywhere before and resumed, it decides the same.
    for (std::int64_t at = 1; at < expected; at += 2) {
      fs::path resumed = scratch / fmt::format("resumed{}_{}", patience, at);
      run_tiny(kTinyQueue, resumed, with(stopping, {"train.max_steps=" + std::to_string(at)}));
      Config again = RunFolder::read_config(resumed, number_overrides({"train.max_steps=0"}));
      Json second = train(again, {.resume = resumed, .progress = ProgressMode::quiet}).summary;
      EXPECT_EQ(second["steps"], summary["steps"]);
      EXPECT_EQ(second["best"], summary["best"]);
      EXPECT_EQ(second["hash"], summary["hash"]);
      EXPECT_EQ(measurements(resumed), measurements(folder));
      EXPECT_EQ(file_text(resumed / kBestFile), file_text(folder / kBestFile));
    }
  }
}

TEST(BestMetric, AMeasurementThatWasInterruptedIsTakenWhenTheRunGoesOn) {
  TempFolder scratch;
  run_tiny(kTinyQueue, scratch / "whole", kMeasured);
  // As a stop in the middle of the measurement after step 8 leaves it: the step is saved, its line is not there. And as
  // it is where the run went on, wrote that line, and was killed before its next checkpoint.
  for (bool written : {false, true}) {
    fs::path folder = scratch / (written ? "killed" : "stopped"), state = folder / "state.json";
    run_tiny(kTinyQueue, folder, with(kMeasured, {"train.max_steps=8"}));
    Json saved = Json::parse(file_text(state));
    saved["evaluated_step"] = 4;
    saved["metrics_lines"] = saved["metrics_lines"].get<std::int64_t>() - 1;
    std::string lines = file_text(folder / "metrics.jsonl");
    auto first = measurements(folder).front();
    saved["best"] = {{"metric", "knn"}, {"value", first.second}, {"step", first.first}, {"waited", 0}};
    if (!written) lines.resize(lines.rfind("{\"step\": 8"));
    fs::remove(state);
    std::ofstream(state) << json_pretty(saved);
    std::ofstream(folder / "metrics.jsonl") << lines;
    Config config = RunFolder::read_config(folder, number_overrides({"train.max_steps=0"}));
    Json summary = train(config, {.resume = folder, .progress = ProgressMode::quiet}).summary;
    EXPECT_EQ(deterministic_lines(folder), deterministic_lines(scratch / "whole")) << folder;
    EXPECT_EQ(summary["best"], Json::parse(file_text(scratch / "whole" / "summary.json"))["best"]);
  }
}

TEST(BestMetric, ARunThatStoppedEarlyWritesNoLineTwiceWhenItIsResumed) {
  for (const char* text : {kTinyQueue, kTinyClassifier}) {
    TempFolder scratch;
    // Without statistics and with a rate of 0 nothing moves, so that the second measurement ends it: between two lines
    // of losses, and right after a checkpoint.
    run_tiny(text, scratch / "run",
             with(kMeasured, {"eval.knn_every=1", "train.early_stop=1", "train.lr=0", "train.checkpoint_every=1",
                              "train.log_every=50", "model.encoder.norm=group", "model.encoder.groups=2"}));
    std::vector<std::string> lines = deterministic_lines(scratch / "run");
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_TRUE(contains(lines.back(), text == kTinyClassifier ? "accuracy" : "loss")) << lines.back();
    for (int again = 0; again < 2; ++again) {
      Config config = RunFolder::read_config(scratch / "run");
      EXPECT_EQ(train(config, {.resume = scratch / "run", .progress = ProgressMode::quiet}).summary["steps"], 2);
      EXPECT_EQ(deterministic_lines(scratch / "run"), lines);
    }
  }
}

TEST(BestMetric, MetricsThatNothingMeasuresAreRefused) {
  TempFolder scratch;
  auto message = [&](std::vector<std::string> overrides) {
    ErrorKind kind = ErrorKind::internal;
    std::string text = error_of(
        [&] {
          Config config = tiny_config(kTinyQueue, scratch / "run", std::move(overrides));
          train(config, {.resume = {}, .progress = ProgressMode::quiet});
        },
        &kind);
    EXPECT_EQ(kind, ErrorKind::config) << text;
    fs::remove_all(scratch / "run");
    return text;
  };
  EXPECT_PRED2(contains, message({"train.early_stop=2"}), "train.keep_best");
  EXPECT_PRED2(contains, message({"train.keep_best=knn"}), "eval.knn_every");
  EXPECT_PRED2(contains, message({"train.keep_best=acuracy"}), "one of loss, accuracy, ");
  EXPECT_PRED2(contains, message({"train.keep_best=accuracy"}), "a line holds loss, lr");  // no labels are predicted
  EXPECT_PRED2(contains, message({"train.accumulate=1000"}), "no step would be trained");
}

TEST(BestMetric, WhatCanNeverBeMeasuredIsRefusedAsTheConfigurationIsRead) {
  auto refused = [](std::vector<std::string> overrides) {
    ErrorKind kind = ErrorKind::internal;
    std::string text = error_of([&] { parse_config("{}", "run.yaml", overrides); }, &kind);
    EXPECT_EQ(kind, ErrorKind::config) << text;
    return text;
  };
  EXPECT_PRED2(contains, refused({"model.type=row_memory", "eval.knn_every=3"}),
               "eval.knn_every = 3: expected 0, since model.type row_memory measures nothing");
  EXPECT_PRED2(contains, refused({"model.type=row_memory", "train.keep_best=knn"}), "one of loss, accuracy, ");
  EXPECT_PRED2(contains, refused({"train.keep_best=knn"}), "expected eval.knn_every above 0");
  EXPECT_PRED2(contains, refused({"train.keep_best=lr"}), "got \"lr\"");  // it has no better and no worse
  EXPECT_PRED2(contains, refused({"train.early_stop=3"}), "train.keep_best");
  const Schema schema = standard_schema();
  for (const ModelType& type : schema.model_types()) {
    if (type.measures.empty()) continue;
    parse_config("{}", "run.yaml", {"model.type=" + type.name, "eval.knn_every=3", "train.keep_best=knn"});
  }
}

TEST(BestMetric, WhatIsNoFiniteNumberIsNeverTheBest) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN(),
                   kInfinite = std::numeric_limits<double>::infinity();
  Config config = parse_config("{}", "run.yaml", {"train.keep_best=loss", "train.early_stop=2"});
  BestMetric best(config);
  for (double value : {kNone, kInfinite, -kInfinite}) EXPECT_FALSE(best.observe({{"step", 1}, {"loss", value}}));
  EXPECT_FALSE(best.has_best());
  EXPECT_FALSE(best.should_stop());
  EXPECT_TRUE(best.observe({{"step", 2}, {"loss", 3.0}}));
  EXPECT_FALSE(best.observe({{"step", 3}, {"loss", kNone}}));
  EXPECT_FALSE(best.observe({{"step", 4}, {"loss", -kInfinite}}));
  EXPECT_EQ(best.value(), 3.0);
  EXPECT_TRUE(best.should_stop());
  BestMetric again(config);
  again.from_json(Json::parse(json_line(best.to_json())), "state.json");  // as a resumed run reads it
  EXPECT_EQ(again.to_json(), best.to_json());
}

TEST(BestMetric, EachMetricGetsBetterInItsOwnDirection) {
  auto second_is_better = [](const std::string& metric, double first, double second) {
    Config config = parse_config("{}", "run.yaml", {"eval.knn_every=1", "train.keep_best=" + metric});
    BestMetric best(config);
    EXPECT_TRUE(best.observe({{"step", 1}, {metric, first}}));
    return best.observe({{"step", 2}, {metric, second}});
  };
  for (const char* less : {"loss", "peak_bytes"}) {
    EXPECT_TRUE(second_is_better(less, 2, 1)) << less;
    EXPECT_FALSE(second_is_better(less, 1, 2)) << less;
    EXPECT_FALSE(second_is_better(less, 1, 1)) << less;
  }
  for (const char* more : {"accuracy", "knn", "images_per_second"}) {
    EXPECT_TRUE(second_is_better(more, 1, 2)) << more;
    EXPECT_FALSE(second_is_better(more, 2, 1)) << more;
    EXPECT_FALSE(second_is_better(more, 1, 1)) << more;
  }
}

}  // namespace
}  // namespace reprise
