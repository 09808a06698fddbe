// The slot cache: a ring of rows that is read whole, by attention, and written by spans. Each layer's queries attend to
// all slots; then the next span of slots, in place, takes after hidden states. The ring's pointer is a buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/kinds/memory_model.h"

namespace reprise {

class SlotCacheModel final : public MemoryModel {
 public:
  explicit SlotCacheModel(const Config& config);

  std::vector<std::int64_t> host_state() const override;
  void set_host_state(const std::vector<std::int64_t>& state) override { dry_position_ = state.at(0); }

 private:
  struct Layer {
    Parameter& query;
    ResidualMix mix;
  };
  void draw(Memory& memory) override;
  Value layer(Tape& tape, std::size_t index, Arg hidden) override;

  std::int64_t slots_, row_width_, span_;
  Buffer &ring_, &pointer_;
  std::int64_t dry_position_ = 0;  // where the ring stands in a dry trace
  std::vector<Layer> parts_;
};

}  // namespace reprise
