// The node memory of a temporal graph (after TGN; Rossi et al., 2020): each layer is a batch of edges between nodes. It
// reads both ends' rows, a gate decides how much of each is replaced by the edge's message, and the rows of all touched
// nodes are written in place. Edges are drawn once; nodes repeat, some far more often than others.
//
// Where a node comes several times in a batch the last edge wins (TGN's "most recent message"), and within an edge its
// head goes before its tail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/kinds/memory_model.h"

namespace reprise {

class GraphMemoryModel final : public MemoryModel {
 public:
  explicit GraphMemoryModel(const Config& config);

 private:
  struct Layer {
    Parameter &gate, &gate_bias, &message, &message_bias, &out;
    Tensor heads, tails;  // [batch]: the ends of each edge
    Tensor touched;       // the nodes that are an end of any, each once, in the order they first come
    Tensor last;          // for each of them the row of its last new state: heads first, then tails
  };
  void draw(Memory& memory) override;
  Value layer(Tape& tape, std::size_t index, Arg hidden) override;

  std::int64_t nodes_, row_width_;
  double skew_;
  Buffer& table_;
  std::vector<Layer> parts_;
};

}  // namespace reprise
