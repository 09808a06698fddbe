// Directional derivatives of a whole model in f64: <gradient, d> against (L(p + h d) - L(p - h d)) / 2h.

#include <cmath>
#include <cstring>

#include "core/interrupt.h"
#include "core/philox.h"
#include "models/check/check.h"
#include "models/train/batches.h"
#include "models/train/method.h"
#include "recompute/bounding_regions.h"

namespace reprise {
namespace {

constexpr double kStep = 1e-5;

/// What the forward writes to states. A gradient takes that as given, though later parts of the same forward may read
/// it; so each evaluation at other parameters gets the bytes that the first one wrote.
class WrittenStates {
 public:
  /// From now on bytes are taken down, else those taken down are put in place.
  void begin(bool take) {
    take_ = take;
    next_ = 0;
    if (take) bytes_.clear();
  }
  /// Right after the node's forward.
  void pass(const TapeData& data, std::uint32_t index) {
    const NodeRecord& node = data.nodes[index];
    BoundingRegions operands(node, data, BoundingRegions::Data::as_it_is);
    for (int i = node.inputs; i < node.inputs + node.updates; ++i) {
      if (data.operands[node.first_operand + static_cast<std::uint32_t>(i)].kind != OperandKind::state) continue;
      Storage& storage = operands.operand(i).storage();
      Region region = node.op->region ? node.op->region(operands, i) : operands.operand(i).region();
      if (take_) {
        copy(region, bytes_.emplace_back(static_cast<std::size_t>(region.bytes())).data(), storage.host_read());
      } else if (next_ < bytes_.size() && bytes_[next_].size() == static_cast<std::size_t>(region.bytes())) {
        give(region, bytes_[next_++].data(), storage.host_write(region, "check"));
      }
    }
  }

 private:
  static void copy(const Region& region, std::byte* to, const std::byte* storage) {
    for (const Run& run : region.runs()) {
      std::memcpy(to, storage + run.lo, static_cast<std::size_t>(run.hi - run.lo));
      to += run.hi - run.lo;
    }
  }
  static void give(const Region& region, const std::byte* from, std::byte* storage) {
    for (const Run& run : region.runs()) {
      std::memcpy(storage + run.lo, from, static_cast<std::size_t>(run.hi - run.lo));
      from += run.hi - run.lo;
    }
  }

  std::vector<std::vector<std::byte>> bytes_;
  std::size_t next_ = 0;
  bool take_ = true;
};

/// The model in f64 on one fixed batch, with what a forward moves put back before each evaluation.
class Evaluation {
 public:
  Evaluation(const Config& config, const Dataset& data)
      : session_(config),
        marks_(config, session_.model->segment_names()),
        recompute_(config, marks_),
        tape_(session_.memory, {.default_dtype = DType::f64}) {
    for (ParameterSet* set : session_.model->parameter_sets()) set->convert(session_.memory, DType::f64);
    session_.model->convert_input(session_.memory, DType::f64);
    recompute_.install(tape_, session_.memory);
    tape_.set_node_hook([this](std::uint32_t node) { written_.pass(tape_.data(), node); });
    LoaderOptions options = loader_options(config, *session_.model);
    options.prefetch = 0;
    batches_ = std::make_unique<Batches>(*session_.model, data.train, options, session_.memory);
    batch_ = batches_->next();
    for (Tensor& view : batch_.views) {
      if (view.defined()) view = to_double(view);
    }
    for (const NamedTensor& named : session_.model->tensors()) before_.push_back(named.tensor.to_doubles());
    for (const Stream* stream : session_.model->streams()) positions_.push_back(stream->position);
  }

  const std::vector<Parameter*>& parameters() { return session_.model->parameters().parameters(); }

  /// The loss at the present parameters; with `gradient`, also that.
  double loss(bool gradient) {
    if (stop_requested()) throw Interrupted{"checking"};
    written_.begin(gradient);
    Forward forward = session_.model->forward(tape_, batch_, marks_);
    double loss = forward.loss.item();
    if (gradient) tape_.backward(forward.loss);
    forward = {};
    tape_.clear();
    return loss;
  }

  void restore() {
    std::vector<NamedTensor> all = session_.model->tensors();
    for (std::size_t i = 0; i < all.size(); ++i) all[i].tensor.assign_doubles(before_[i], "check");
    std::vector<Stream*> streams = session_.model->streams();
    for (std::size_t i = 0; i < streams.size(); ++i) streams[i]->position = positions_[i];
  }

  /// parameters = those before + step * direction.
  void move(const std::vector<std::vector<double>>& direction, double step) {
    restore();
    for (std::size_t p = 0; p < parameters().size(); ++p) {
      std::vector<double> values = parameters()[p]->leaf->data.to_doubles();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += step * direction[p][i];
      parameters()[p]->leaf->data.assign_doubles(values, "check");
    }
  }

 private:
  Tensor to_double(const Tensor& from) {
    Tensor to =
        make_tensor(session_.memory.allocator(), session_.memory.observer(), DType::f64, from.shape(), Category::data);
    to.assign_doubles(from.to_doubles());
    return to;
  }

  ModelSession session_;
  SegmentMarks marks_;
  RecomputeSetup recompute_;
  Tape tape_;
  std::unique_ptr<Batches> batches_;
  Batch batch_;
  std::vector<std::vector<double>> before_;
  std::vector<std::uint64_t> positions_;
  WrittenStates written_;
};

/// A random direction of length 1 over all parameters.
std::vector<std::vector<double>> make_direction(const std::vector<Parameter*>& parameters, std::uint64_t number) {
  std::vector<std::vector<double>> direction;
  double sum = 0;
  std::uint64_t at = 0;
  for (const Parameter* p : parameters) {
    std::vector<double>& part = direction.emplace_back(static_cast<std::size_t>(p->leaf->data.size()));
    for (double& v : part) {
      v = 2.0 * uniform_from_word(philox_word(0x636865636bu, number, at++)) - 1.0;
      sum += v * v;
    }
  }
  for (auto& part : direction) {
    for (double& v : part) v /= std::sqrt(sum);
  }
  return direction;
}

}  // namespace

double DirectionalCheck::relative_error() const {
  return std::abs(analytic - numeric) / std::max({std::abs(analytic), std::abs(numeric), 1e-8});
}

std::vector<DirectionalCheck> check_directions(const Config& config, const Dataset& data,
                                               const MethodSettings& settings, int directions) {
  Config own = with_settings(config, settings);
  Evaluation evaluation(own, data);
  evaluation.loss(true);
  std::vector<std::vector<double>> gradient;
  for (const Parameter* p : evaluation.parameters()) gradient.push_back(p->leaf->grad.to_doubles());
  std::vector<DirectionalCheck> checks;
  for (int number = 0; number < directions; ++number) {
    auto direction = make_direction(evaluation.parameters(), static_cast<std::uint64_t>(number));
    DirectionalCheck check;
    for (std::size_t p = 0; p < gradient.size(); ++p) {
      for (std::size_t i = 0; i < gradient[p].size(); ++i) check.analytic += gradient[p][i] * direction[p][i];
    }
    evaluation.move(direction, kStep);
    double above = evaluation.loss(false);
    evaluation.move(direction, -kStep);
    double below = evaluation.loss(false);
    evaluation.restore();
    check.numeric = (above - below) / (2 * kStep);
    checks.push_back(check);
  }
  return checks;
}

}  // namespace reprise
