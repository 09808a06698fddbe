// Units: the parts of a recorded forward that contracts name and plans treat as one, in forward order: each outermost
// segment instance, and each run of nodes between two (an implicit segment, always retained). Used by contracts, the
// planner and timelines, so that all of them call a unit, its forward and its backward the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "autograd/node.h"

namespace reprise {

struct Unit {
  std::string id;                 // "layer1.0", its second instance "layer1.0/2", "(outside)" between segments
  std::uint32_t segment = kNone;  // kNone: implicit
  std::uint32_t first_node = 0, end_node = 0;
};

class Units {
 public:
  Units() = default;
  explicit Units(const TapeData& data);

  const std::vector<Unit>& all() const { return units_; }
  std::size_t size() const { return units_.size(); }
  const Unit& operator[](std::size_t unit) const { return units_[unit]; }
  std::uint32_t of_node(std::uint32_t node) const { return of_node_[node]; }
  /// The unit in whose backward a replay of `node` happens: its own; or, while its two-level run is restored, the last
  /// of the run.
  std::uint32_t of_replay(const TapeData& data, std::uint32_t node) const;
  /// The unit of explicit instance `segment`; kNone where it has recorded no node.
  std::uint32_t of_segment(std::uint32_t segment) const { return of_segment_[segment]; }

  /// "forward of layer1.0".
  std::string forward_name(std::uint32_t unit) const { return "forward of " + units_[unit].id; }
  /// "backward of head".
  std::string backward_name(std::uint32_t unit) const { return "backward of " + units_[unit].id; }

 private:
  std::vector<Unit> units_;
  std::vector<std::uint32_t> of_node_, of_segment_;
};

}  // namespace reprise
