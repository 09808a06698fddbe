// The product-key memory (Lample et al., "Large memory layers with product keys", 2019): a query's two halves are
// scored against two sets of keys, the best of each are combined, and the best pairs name rows of a table of values,
// which are mixed by softmax. Which rows these are follows from the data; the choices are decisions, which no replay
// makes again.
//
// After its read a layer counts the use of each row and moves the used rows towards the mean of the hidden states that
// used them (an exponential moving average, as for the codes of VQ-VAE; van den Oord et al., 2017).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/kinds/memory_model.h"

namespace reprise {

class ProductKeyMemoryModel final : public MemoryModel {
 public:
  explicit ProductKeyMemoryModel(const Config& config);

 private:
  struct Layer {
    Parameter &query, &first, &second;
    ResidualMix mix;
  };
  struct Chosen {
    Value indices;  // [batch, reads], i64
    Value scores;   // [batch, reads], differentiable
  };
  void draw(Memory& memory) override;
  Value layer(Tape& tape, std::size_t index, Arg hidden) override;
  /// The `reads` best of scores [batch, n] of each example. `begins` is where each example's scores begin.
  Chosen choose(Tape& tape, const Value& scores, const Tensor& begins) const;

  std::int64_t keys_, key_width_, row_width_, reads_;
  double keep_;
  Buffer &table_, &usage_;
  Tensor key_begins_, pair_begins_;  // [batch, 1]
  std::vector<Layer> parts_;
};

}  // namespace reprise
