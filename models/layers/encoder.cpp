#include "models/layers/encoder.h"

#include <utility>

#include "ops/arithmetic.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/group_norm.h"
#include "ops/matmul.h"
#include "ops/normalize.h"
#include "ops/pool.h"
#include "ops/unary.h"

namespace reprise {
namespace {

Parameter& conv_weight(ParameterSet& set, const std::string& name, std::int64_t in, std::int64_t out,
                       std::int64_t side) {
  return set.add(name + ".weight", {out, in, side, side}, Init::kaiming_normal, out * side * side);
}

std::string block_name(std::size_t stage, std::size_t block) {
  return "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
}

std::string stage_name(std::size_t stage) { return "layer" + std::to_string(stage + 1); }

}  // namespace

NormLayer::NormLayer(ParameterSet& set, const std::string& name, std::int64_t channels, const EncoderSizes& sizes)
    : weight_(set.add(name + ".weight", {channels}, Init::ones)),
      bias_(set.add(name + ".bias", {channels}, Init::zeros)),
      groups_(sizes.groups),
      activation_(sizes.activation) {
  if (sizes.norm == NormKind::group) return;
  running_mean_ = &set.add_buffer(name + ".running_mean", DType::f32, {channels}, 0);
  running_var_ = &set.add_buffer(name + ".running_var", DType::f32, {channels}, 1);
}

Value NormLayer::normalise(Tape& tape, Value x, Mode mode) const {
  if (!running_mean_) return group_norm(tape, std::move(x), groups_, weight_.leaf, bias_.leaf);
  return batch_norm(tape, std::move(x), weight_.leaf, bias_.leaf, running_mean_->tensor, running_var_->tensor,
                    {.training = mode == Mode::train});
}

Value NormLayer::activate(Tape& tape, Value x, Mode mode) const {
  if (!fused()) return activated(tape, normalise(tape, std::move(x), mode));
  return batch_norm_relu(tape, std::move(x), weight_.leaf, bias_.leaf, running_mean_->tensor, running_var_->tensor,
                         {.training = mode == Mode::train});
}

Value NormLayer::add_activate(Tape& tape, Value x, Value residual, Mode mode) const {
  if (!fused()) return activated(tape, add(tape, normalise(tape, std::move(x), mode), std::move(residual)));
  return batch_norm_add_relu(tape, std::move(x), std::move(residual), weight_.leaf, bias_.leaf, running_mean_->tensor,
                             running_var_->tensor, {.training = mode == Mode::train});
}

Value NormLayer::activated(Tape& tape, Value x) const {
  return activation_ == ActivationKind::silu ? silu(tape, std::move(x)) : relu(tape, std::move(x));
}

LinearLayer::LinearLayer(ParameterSet& set, const std::string& name, std::int64_t in, std::int64_t out)
    : weight_(set.add(name + ".weight", {out, in}, Init::uniform, in)),
      bias_(set.add(name + ".bias", {out}, Init::uniform, in)) {}

Value LinearLayer::operator()(Tape& tape, Arg x) const { return linear(tape, std::move(x), weight_.leaf, bias_.leaf); }

BasicBlock::BasicBlock(ParameterSet& set, const std::string& name, std::int64_t in, std::int64_t out,
                       std::int64_t stride, const EncoderSizes& sizes)
    : stride_(stride),
      conv1_(conv_weight(set, name + ".conv1", in, out, 3)),
      norm1_(set, name + ".bn1", out, sizes),
      conv2_(conv_weight(set, name + ".conv2", out, out, 3)),
      norm2_(set, name + ".bn2", out, sizes) {
  if (stride == 1 && in == out) return;
  Parameter& weight = conv_weight(set, name + ".short.0", in, out, 1);
  shortcut_.emplace(Shortcut{weight, NormLayer(set, name + ".short.1", out, sizes)});
}

Value BasicBlock::operator()(Tape& tape, const Value& x, Mode mode) const {
  Value y = conv2d(tape, x, conv1_.leaf, {}, {.stride = stride_, .padding = 1});
  y = norm1_.activate(tape, std::move(y), mode);
  y = conv2d(tape, y, conv2_.leaf, {}, {.padding = 1});
  Value residual = x;
  if (shortcut_) {
    residual = conv2d(tape, x, shortcut_->weight.leaf, {}, {.stride = stride_});
    residual = shortcut_->norm.normalise(tape, std::move(residual), mode);
  }
  return norm2_.add_activate(tape, std::move(y), std::move(residual), mode);
}

Encoder::Encoder(ParameterSet& set, const EncoderSizes& sizes, bool projection)
    : stem_(conv_weight(set, "backbone.stem", 3, sizes.widths.at(0), 3)),
      stem_norm_(set, "backbone.stem_bn", sizes.widths.at(0), sizes) {
  std::int64_t in = sizes.widths[0];
  for (std::size_t stage = 0; stage < sizes.widths.size(); ++stage) {
    std::vector<BasicBlock>& blocks = stages_.emplace_back();
    for (std::int64_t block = 0; block < sizes.blocks; ++block) {
      std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      blocks.emplace_back(set, "backbone." + block_name(stage, static_cast<std::size_t>(block)), in,
                          sizes.widths[stage], stride, sizes);
      in = sizes.widths[stage];
    }
  }
  dim_ = in;
  if (!projection) return;
  hidden_.emplace(set, "proj.0", dim_, sizes.projection_hidden);
  out_.emplace(set, "proj.2", sizes.projection_hidden, sizes.projection_out);
}

Value Encoder::maps(Tape& tape, Arg images, Mode mode, const SegmentMarks& marks) const {
  Value x = marks.run(tape, "stem", [&] {
    Value y = conv2d(tape, images, stem_.leaf, {}, {.padding = 1});
    return stem_norm_.activate(tape, std::move(y), mode);
  });
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    x = marks.run(tape, stage_name(stage), [&] {
      Value y = std::move(x);
      for (std::size_t block = 0; block < stages_[stage].size(); ++block) {
        y = marks.run(tape, block_name(stage, block), [&] { return stages_[stage][block](tape, y, mode); });
      }
      return y;
    });
  }
  return x;
}

Value Encoder::features(Tape& tape, Arg images, Mode mode) const {
  return global_avg_pool(tape, maps(tape, std::move(images), mode, SegmentMarks{}));
}

Value Encoder::project(Tape& tape, Arg features) const {
  Value hidden = relu(tape, (*hidden_)(tape, std::move(features)));
  return l2_normalize(tape, (*out_)(tape, hidden));
}

SegmentNames Encoder::names() const {
  SegmentNames names{{"stem"}, {"stem"}};
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    names.stages.push_back(stage_name(stage));
    for (std::size_t block = 0; block < stages_[stage].size(); ++block)
      names.blocks.push_back(block_name(stage, block));
  }
  return names;
}

}  // namespace reprise
