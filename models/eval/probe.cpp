#include "models/eval/probe.h"

#include <algorithm>
#include <cmath>

#include "data/shuffle.h"
#include "models/train/learning_rate.h"
#include "ops/loss.h"
#include "ops/optimiser.h"

namespace reprise {
namespace {

/// Mean and deviation of each column of `train`, applied to both.
void standardise(FeatureTable& train, FeatureTable& test) {
  auto width = static_cast<std::size_t>(train.width);
  std::vector<double> mean(width, 0), square(width, 0);
  for (std::size_t i = 0; i < train.values.size(); ++i) mean[i % width] += train.values[i];
  for (double& m : mean) m /= static_cast<double>(train.rows);
  for (std::size_t i = 0; i < train.values.size(); ++i)
    square[i % width] += std::pow(train.values[i] - mean[i % width], 2);
  for (double& s : square)
    s = 1.0 / (std::sqrt(s / static_cast<double>(std::max<std::int64_t>(train.rows - 1, 1))) + 1e-6);
  for (FeatureTable* table : {&train, &test}) {
    for (std::size_t i = 0; i < table->values.size(); ++i) {
      table->values[i] = static_cast<float>((table->values[i] - mean[i % width]) * square[i % width]);
    }
  }
}

/// The layer under training with its optimiser.
struct ProbeLayer {
  ProbeLayer(Memory& memory, std::int64_t width, std::uint64_t seed) : layer(set, "probe", width, kFineLabels) {
    set.allocate(memory, seed);
    auto moments = set.allocate_like(memory, 2);
    for (std::size_t i = 0; i < set.parameters().size(); ++i) {
      slots.push_back({set.parameters()[i]->leaf, moments[0][i], moments[1][i], {}, set.parameters()[i]->is_matrix()});
    }
  }
  ParameterSet set{true};
  LinearLayer layer;
  std::vector<OptimiserSlot> slots;
};

struct ProbeBatch {
  ProbeBatch(Memory& memory, std::int64_t size, std::int64_t width)
      : x(make_tensor(memory.allocator(), memory.observer(), DType::f32, {size, width}, Category::data)),
        labels(make_tensor(memory.allocator(), memory.observer(), DType::i64, {size}, Category::data)) {}
  void take(const FeatureTable& table, std::span<const std::int32_t> rows) {
    auto to = x.host_write<float>("probe");
    auto to_labels = labels.host_write<std::int64_t>("probe");
    auto width = static_cast<std::size_t>(table.width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto row = static_cast<std::size_t>(rows[i]);
      std::copy_n(table.values.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                  to.begin() + static_cast<std::ptrdiff_t>(i * width));
      to_labels[i] = table.labels[row];
    }
  }
  Tensor x, labels;
};

double train_layer(const EvaluationContext& context, ProbeLayer& probe, const FeatureTable& train,
                   const ProbeOptions& options, const char* stage) {
  std::int64_t size = std::min(options.batch, train.rows), batches = train.rows / size, step = 0,
               steps = options.epochs * batches;
  ProbeBatch batch(context.memory, size, train.width);
  std::vector<std::int32_t> order(static_cast<std::size_t>(train.rows));
  Tape tape(context.memory);
  double loss_sum = 0;
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    shuffle_epoch(options.seed ^ 0x70726f6265u, epoch, order);
    stop_evaluation_if_asked();
    loss_sum = 0;
    for (std::int64_t b = 0; b < batches; ++b) {
      batch.take(train, std::span(order).subspan(static_cast<std::size_t>(b * size), static_cast<std::size_t>(size)));
      Value loss = softmax_cross_entropy(tape, probe.layer(tape, batch.x), batch.labels);
      loss_sum += loss.item();
      for (OptimiserSlot& slot : probe.slots) slot.parameter->clear_grad();
      tape.backward(loss);
      loss.reset();
      tape.clear();
      double lr = cosine_lr(step, steps, 1, options.lr);
      adamw_step(probe.slots, {.lr = lr, .weight_decay = options.weight_decay, .step = ++step});
    }
    if (context.progress) {
      ProgressState state;
      state.stage = stage;
      state.epoch = epoch + 1;
      state.epochs = options.epochs;
      state.step = step;
      state.steps = steps;
      state.loss = loss_sum / static_cast<double>(batches);
      context.progress->update(state);
    }
  }
  return batches > 0 ? loss_sum / static_cast<double>(batches) : 0;
}

}  // namespace

ProbeResult run_probe(const EvaluationContext& context, FeatureTable& train, FeatureTable& test,
                      const ProbeOptions& options, const char* stage) {
  standardise(train, test);
  ProbeLayer probe(context.memory, train.width, options.seed);
  ProbeResult result;
  result.train_loss = train_layer(context, probe, train, options, stage);
  Tape tape(context.memory, {.record = false});
  std::int64_t top1 = 0, top5 = 0;
  for (std::int64_t first = 0; first < test.rows; first += options.batch) {
    std::int64_t size = std::min(options.batch, test.rows - first);
    std::vector<std::int32_t> rows(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) rows[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first + i);
    ProbeBatch batch(context.memory, size, test.width);
    batch.take(test, rows);
    Value logits = probe.layer(tape, batch.x);
    if (context.predictions) context.predictions->add_values(logits.tensor().host_read<float>());
    top1 += count_top_k(logits.tensor(), batch.labels, 1);
    top5 += count_top_k(logits.tensor(), batch.labels, 5);
    logits.reset();
    tape.clear();
  }
  result.top1 = 100.0 * static_cast<double>(top1) / static_cast<double>(test.rows);
  result.top5 = 100.0 * static_cast<double>(top5) / static_cast<double>(test.rows);
  return result;
}

namespace {

constexpr std::int64_t kImagesForStatistics = 5000;
// Batch statistics depend on the batch, which therefore must not depend on the memory budget: so small a batch, of
// which nothing is recorded, fits wherever the training fits.
constexpr std::int64_t kBatchForStatistics = 64;

/// An encoder as initialised, its running statistics taken from the first images.
struct UntrainedEncoder {
  UntrainedEncoder(const EvaluationContext& context, const EncoderSizes& sizes) : encoder(set, sizes, false) {
    set.allocate(context.memory, static_cast<std::uint64_t>(context.config.get_int("seed")));
    if (set.buffers().empty()) return;  // normalised by groups: no statistics to take
    std::int64_t count = std::min(kImagesForStatistics, context.data.train.size());
    std::int64_t batch = std::min(kBatchForStatistics, context.config.get_int("train.batch"));
    for_each_whole_batch(
        context, context.data.train, count, batch, "baseline",
        [&](Tape& tape, const Tensor& x, const Tensor&, std::int64_t) { encoder.features(tape, x, Mode::train); });
  }
  ParameterSet set{true};
  Encoder encoder;
};

ProbeResult probe_features(const EvaluationContext& context, const Encoder& encoder, std::int64_t labelled,
                           const char* stage) {
  const Config& config = context.config;
  FeatureTable train = compute_features(context, encoder, context.data.train, labelled, stage);
  FeatureTable test = compute_features(context, encoder, context.data.test, context.data.test.size(), stage);
  ProbeOptions options{config.get_int("probe.epochs"), config.get_int("probe.batch"), config.get_real("probe.lr"),
                       config.get_real("probe.weight_decay"), static_cast<std::uint64_t>(config.get_int("seed"))};
  return run_probe(context, train, test, options, stage);
}

}  // namespace

Json probe_encoder(const EvaluationContext& context, const Encoder& encoder, const EncoderSizes& sizes) {
  std::int64_t labelled = context.data.train.size();
  if (std::int64_t most = context.config.get_int("probe.labels"); most > 0) labelled = std::min(labelled, most);
  ProbeResult trained = probe_features(context, encoder, labelled, "probe");
  Json figures = {
      {"top1", trained.top1}, {"top5", trained.top5}, {"train_loss", trained.train_loss}, {"labels", labelled}};
  if (context.config.get_bool("probe.baseline")) {
    EvaluationContext apart = context;
    apart.predictions = nullptr;
    UntrainedEncoder untrained(apart, sizes);
    ProbeResult baseline = probe_features(apart, untrained.encoder, labelled, "baseline");
    figures["untrained"] = {{"top1", baseline.top1}, {"top5", baseline.top5}};
  }
  return figures;
}

std::vector<std::string> describe_probe(const Json& probe) {
  std::vector<std::string> lines = {
      fmt::format("probe: top-1 {:.2f} %, top-5 {:.2f} % (linear layer on frozen features, {} labels; chance is 1 %)",
                  probe["top1"].get<double>(), probe["top5"].get<double>(), probe["labels"].get<std::int64_t>())};
  if (probe.contains("untrained")) {
    lines.push_back(fmt::format("probe of the untrained encoder: top-1 {:.2f} %, top-5 {:.2f} %",
                                probe["untrained"]["top1"].get<double>(), probe["untrained"]["top5"].get<double>()));
  }
  return lines;
}

}  // namespace reprise
