// MemoryModel: what the workloads around a memory have in common. One hidden state [batch, width] passes through
// layers; each layer reads the memory, which all of them share, and writes to it in place before the next one reads.
// Nothing is learnt from images: the input and all fixed lists of rows are drawn once from the key `seed`.
//
// The loss is the mean square of the last hidden state. Each layer is one segment, "layer0" and so on, write included.
#pragma once

#include "models/layers/draws.h"
#include "models/model.h"

namespace reprise {

class MemoryModel : public TrainableModel {
 public:
  explicit MemoryModel(const Config& config);

  void allocate(Memory& memory) final;
  ParameterSet& parameters() final { return set_; }
  std::vector<ParameterSet*> parameter_sets() final { return {&set_, &state_}; }
  std::vector<NamedTensor> tensors() final;
  bool takes_images() const final { return false; }
  void convert_input(Memory& memory, DType dtype) final;
  SegmentNames segment_names() const final;
  Forward forward(Tape& tape, const Batch& batch, const SegmentMarks& marks) final;
  Json evaluate(const EvaluationContext&) final { return Json::object(); }
  std::vector<std::string> describe(const Json&) const final { return {}; }

 protected:
  /// Draws what the kind needs besides parameters and hidden state: its memory's first values and its lists of rows. On
  /// a dry run only the lists.
  virtual void draw(Memory& memory) = 0;
  /// Records layer `index` on the hidden state: returns the next one.
  virtual Value layer(Tape& tape, std::size_t index, Arg hidden) = 0;

  /// For memories that take after hidden states: errors (config) where a row, `row_width` numbers, is wider than they.
  void require_rows_of_hidden(std::int64_t row_width) const;
  /// For memories that take after hidden states: rows 0, 1, ... of the hidden state, `count` of them, going round at
  /// its end, the first `width` numbers of each. declare_sources() before, in draw().
  void declare_sources(Memory& memory, std::int64_t count);
  Value sources(Tape& tape, const Value& hidden, std::int64_t width) const;

  /// The stream of what is drawn under this name.
  Stream stream(const std::string& name) const;
  std::int64_t batch() const { return batch_; }
  std::int64_t width() const { return width_; }
  std::size_t layers() const { return layers_; }
  /// "layer3.score".
  static std::string layer_name(std::size_t index, const char* part = nullptr);

  ParameterSet set_{true}, state_{false};

 private:
  std::int64_t batch_, width_;
  std::size_t layers_;
  Tensor input_;  // [batch, width], constant
  std::int64_t source_count_ = 0;
  Tensor source_list_;  // undefined where the first rows are enough
};

/// A layer of two products behind each other on [hidden, read], added to the hidden state.
class ResidualMix {
 public:
  ResidualMix(ParameterSet& set, const std::string& name, std::int64_t width, std::int64_t read, std::int64_t inner);
  Value operator()(Tape& tape, const Arg& hidden, Arg read) const;

 private:
  Parameter &in_, &out_;
};

}  // namespace reprise
