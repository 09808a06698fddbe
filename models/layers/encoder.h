// The CIFAR ResNet encoder (He et al., 2016): a 3x3 stem, one stage of basic blocks per width (the first block of every
// stage but the first halves the image), a global average, and on request a projection head.
//
// Sizes and kinds of layers are those of models/config/model_keys.h. The same class serves as query encoder, as
// averaged key encoder and as the body of the classifier; its parameters lie in the set that it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "models/config/model_keys.h"
#include "models/layers/parameters.h"
#include "models/layers/segment_marks.h"

namespace reprise {

/// Group normalisation is the same in both.
enum class Mode : std::uint8_t {
  train,     // normalise by the batch, move the running statistics
  evaluate,  // normalise by the running statistics
};

/// One normalisation by batch or by groups, and the activation behind it. Its names do not say which: "bn1" is the name
/// that torchvision's encoders give either.
class NormLayer {
 public:
  NormLayer(ParameterSet& set, const std::string& name, std::int64_t channels, const EncoderSizes& sizes);

  /// `x` and `residual` are handed over: a result may take the memory of what nobody else holds.
  Value normalise(Tape& tape, Value x, Mode mode) const;
  /// The activation of what is normalised.
  Value activate(Tape& tape, Value x, Mode mode) const;
  /// The activation of what is normalised plus a residual.
  Value add_activate(Tape& tape, Value x, Value residual, Mode mode) const;

 private:
  /// Batch normalisation and relu are one op.
  bool fused() const { return running_mean_ != nullptr && activation_ == ActivationKind::relu; }
  Value activated(Tape& tape, Value x) const;

  Parameter &weight_, &bias_;
  Buffer *running_mean_ = nullptr, *running_var_ = nullptr;  // stay null with group normalisation, which keeps none
  std::int64_t groups_;
  ActivationKind activation_;
};

class LinearLayer {
 public:
  LinearLayer(ParameterSet& set, const std::string& name, std::int64_t in, std::int64_t out);
  Value operator()(Tape& tape, Arg x) const;

 private:
  Parameter &weight_, &bias_;
};

class BasicBlock {
 public:
  BasicBlock(ParameterSet& set, const std::string& name, std::int64_t in, std::int64_t out, std::int64_t stride,
             const EncoderSizes& sizes);
  Value operator()(Tape& tape, const Value& x, Mode mode) const;

 private:
  struct Shortcut {
    Parameter& weight;
    NormLayer norm;
  };
  std::int64_t stride_;
  Parameter& conv1_;
  NormLayer norm1_;
  Parameter& conv2_;
  NormLayer norm2_;
  std::optional<Shortcut> shortcut_;
};

class Encoder {
 public:
  /// Declares everything in `set`; `projection` adds "proj.0" and "proj.2".
  Encoder(ParameterSet& set, const EncoderSizes& sizes, bool projection);

  /// Images [n, 32, 32, 3] to maps [n, h, w, dim]. Its parts run under `marks`.
  Value maps(Tape& tape, Arg images, Mode mode, const SegmentMarks& marks) const;
  /// The global average of the maps: features [n, dim].
  Value features(Tape& tape, Arg images, Mode mode) const;
  /// Features to unit vectors [n, projection_out].
  Value project(Tape& tape, Arg features) const;

  std::int64_t dim() const { return dim_; }
  /// The parts that maps() runs under marks; "head" is for the model to add.
  SegmentNames names() const;

 private:
  std::int64_t dim_ = 0;
  Parameter& stem_;
  NormLayer stem_norm_;
  std::vector<std::vector<BasicBlock>> stages_;
  std::optional<LinearLayer> hidden_, out_;
};

}  // namespace reprise
