// The row memory: layers share a table of rows. Each layer reads a few fixed rows for each example, mixes them by
// softmax weights of its hidden state, and then moves a small share of the rows, in place, towards hidden states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/kinds/memory_model.h"

namespace reprise {

class RowMemoryModel final : public MemoryModel {
 public:
  explicit RowMemoryModel(const Config& config);

 private:
  struct Layer {
    Parameter& score;
    ResidualMix mix;
    Tensor reads;   // [batch, reads]; rows may repeat
    Tensor writes;  // [writes]; different rows
  };
  void draw(Memory& memory) override;
  Value layer(Tape& tape, std::size_t index, Arg hidden) override;

  std::int64_t rows_, row_width_, reads_, writes_;
  double keep_;
  Buffer& table_;
  std::vector<Layer> parts_;
};

}  // namespace reprise
