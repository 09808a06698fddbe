// Step rows: the rows of one step in the order of time. A stretch of forward has one per unit that records in it; a
// backward has one per unit that it reaches, the last unit first. Bytes, objects and times of a step with several
// forwards and backwards are told by these. Made while a step is walked (step_watch.h); the same whatever is chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recompute/units.h"

namespace reprise {

struct StepRow {
  std::uint32_t unit = 0;
  std::uint32_t backward = kNone;  // its number; kNone: this is a forward
};

class StepRows {
 public:
  /// The row of the next node's forward, which belongs to `unit`; nodes and units come in their order.
  int add_node(std::uint32_t unit);
  /// Rows of the next backward. `reached`: per node, whether it will be visited.
  void add_backward(const Units& units, const std::vector<std::uint8_t>& reached);
  /// The row of `unit` in the backward added last; where that does not reach it, of the unit that it reaches next, or
  /// its last row where none is left.
  int now(std::uint32_t unit) const { return now_[unit]; }

  int count() const { return static_cast<int>(rows_.size()); }
  std::uint32_t backwards() const { return static_cast<std::uint32_t>(last_of_backward_.size()); }
  const StepRow& operator[](int row) const { return rows_[static_cast<std::size_t>(row)]; }
  /// The row of a node's forward.
  int of_node(std::uint32_t node) const { return of_node_[node]; }
  /// All rows of a unit, ascending; the first is a forward.
  const std::vector<int>& of_unit(std::uint32_t unit) const { return of_unit_[unit]; }
  int forward_of(std::uint32_t unit) const { return of_unit_[unit].front(); }
  /// The row of `unit` in backward number `backward`; the last row of that backward where it does not reach the unit.
  int in_backward(std::uint32_t unit, std::uint32_t backward) const;
  /// How many backwards have reached `unit` up to `row`, itself included.
  int visits(std::uint32_t unit, int row) const;
  /// Whether no backward stands between the forwards of `unit` and of the one before it.
  bool joined(std::uint32_t unit) const { return unit > 0 && forward_of(unit) == of_unit_[unit - 1].front() + 1; }
  /// "forward of layer1.0", "backward of head"; of several backwards "backward of head, in backward 2 of 3".
  std::string name(int row, const Units& units) const;

 private:
  void add(StepRow row);

  std::vector<StepRow> rows_;
  std::vector<std::vector<int>> of_unit_;
  std::vector<int> of_node_, last_of_backward_, now_;
};

}  // namespace reprise
