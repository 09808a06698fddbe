// The model type `recall`: a small classifier whose hidden features pass through the op, and its key in the YAML.
#include "models/eval/features.h"
#include "models/layers/encoder.h"
#include "models/registry.h"
#include "ops/loss.h"
#include "ops/pool.h"
#include "ops/shape_ops.h"
#include "ops/state.h"
#include "ops/unary.h"
#include "recall.h"

namespace recall {

using namespace reprise;

namespace {

constexpr std::int64_t kPixels = 8 * 8 * 3, kHidden = 32;

class RecallModel final : public TrainableModel {
 public:
  explicit RecallModel(const Config& config)
      : TrainableModel(config),
        rows_(config.get_int("model.rows")),
        hidden_(set_, "hidden", kPixels, kHidden),
        head_(set_, "head", kHidden, kFineLabels),
        memory_(state_.add_buffer("memory", DType::f32, {rows_, kHidden})),
        pointer_(state_.add_buffer("pointer", DType::i64, {1})) {
    if (rows_ < config.get_int("train.batch"))
      throw config.error_at("model.rows", "expected a row for each image of a batch, got {}", rows_);
  }

  void allocate(Memory& memory) override {
    auto seed = static_cast<std::uint64_t>(config_.get_int("seed"));
    set_.allocate(memory, seed);
    state_.allocate(memory, seed);
  }
  ParameterSet& parameters() override { return set_; }
  std::vector<ParameterSet*> parameter_sets() override { return {&set_, &state_}; }
  std::vector<NamedTensor> tensors() override {
    std::vector<NamedTensor> all;
    set_.list("", all);
    state_.list("", all);
    return all;
  }
  // Where the ring stands decides which bytes a step writes. A dry trace has no bytes to read it from.
  std::vector<std::int64_t> host_state() const override {
    auto pointer = pointer_.tensor.host_read<std::int64_t>();
    return {pointer.empty() ? dry_position_ : pointer[0]};
  }
  void set_host_state(const std::vector<std::int64_t>& state) override { dry_position_ = state.at(0); }
  SegmentNames segment_names() const override { return {{"hidden", "head"}, {"all"}}; }
  AugmentOptions augmentation() const override { return AugmentOptions::evaluation(); }

  Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) override {
    Value features = marks.run(tape, "hidden", [&] {
      Value y = hidden(tape, batch.views[0]);
      return relu(tape, recall(tape, y, memory_.tensor, host_state()[0]));
    });
    dry_position_ = (host_state()[0] + batch.size) % rows_;
    counter_add(tape, pointer_.tensor, batch.size, rows_);
    return {marks.run(tape, "head", [&] { return softmax_cross_entropy(tape, head_(tape, features), batch.labels); }),
            std::nullopt};
  }

  Json evaluate(const EvaluationContext& context) override {
    std::int64_t right = 0, images = context.data.test.size();
    for_each_batch(context, context.data.test, images, "test",
                   [&](Tape& tape, const Tensor& x, const Tensor& labels, std::int64_t) {
                     Value scores = head_(tape, relu(tape, hidden(tape, x)));
                     right += count_top_k(scores.tensor(), labels, 1);
                   });
    return {{"test", {{"top1", 100.0 * static_cast<double>(right) / static_cast<double>(images)}}}};
  }
  std::vector<std::string> describe(const Json& figures) const override {
    return {fmt::format("test: top-1 {:.2f} %", figures["test"]["top1"].get<double>())};
  }

 private:
  Value hidden(Tape& tape, const Tensor& images) const {
    Value small = avg_pool2d(tape, images, {.window = 4});
    return hidden_(tape, reshape(tape, small, {images.shape()[0], kPixels}));
  }

  std::int64_t rows_, dry_position_ = 0;
  ParameterSet set_{true}, state_{false};
  LinearLayer hidden_, head_;
  Buffer &memory_, &pointer_;
};

}  // namespace

void register_recall() {
  register_op(kRecall);
  register_model({.name = "recall",
                  .summary = "a classifier whose features meet what a ring of memory held",
                  .keys = {integer_key("model.rows", 256, at_least(1), "rows", "rows of the ring")},
                  .defaults = {}},
                 [](const Config& config) { return std::make_unique<RecallModel>(config); });
}

}  // namespace recall
