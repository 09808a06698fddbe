#include "recompute/planning/step_rows.h"

#include <algorithm>

#include "core/error.h"

namespace reprise {

void StepRows::add(StepRow row) {
  if (of_unit_.size() <= row.unit) of_unit_.resize(row.unit + 1);
  of_unit_[row.unit].push_back(count());
  rows_.push_back(row);
}

int StepRows::add_node(std::uint32_t unit) {
  bool goes_on = !rows_.empty() && rows_.back().backward == kNone && rows_.back().unit == unit;
  if (!goes_on) add({unit, kNone});
  of_node_.push_back(count() - 1);
  return of_node_.back();
}

void StepRows::add_backward(const Units& units, const std::vector<std::uint8_t>& reached) {
  auto backward = backwards();
  now_.assign(units.size(), -1);
  for (auto u = static_cast<std::uint32_t>(units.size()); u-- > 0;) {
    const Unit& unit = units[u];
    auto first = reached.begin() + unit.first_node, end = reached.begin() + unit.end_node;
    if (std::find(first, end, 1) != end) {
      add({u, backward});
      now_[u] = count() - 1;
    }
  }
  last_of_backward_.push_back(count() - 1);
  int next = count() - 1;  // of the nearest unit below that is reached
  for (int& row : now_) {
    if (row < 0)
      row = next;
    else
      next = row;
  }
}

int StepRows::in_backward(std::uint32_t unit, std::uint32_t backward) const {
  for (int row : of_unit_[unit]) {
    if ((*this)[row].backward == backward) return row;
  }
  return last_of_backward_[backward];
}

int StepRows::visits(std::uint32_t unit, int row) const {
  const std::vector<int>& rows = of_unit_[unit];
  return static_cast<int>(
      std::count_if(rows.begin(), rows.end(), [&](int r) { return r <= row && (*this)[r].backward != kNone; }));
}

std::string StepRows::name(int row, const Units& units) const {
  const StepRow& at = (*this)[row];
  if (at.backward == kNone) return units.forward_name(at.unit);
  std::string text = units.backward_name(at.unit);
  return backwards() < 2 ? text : fmt::format("{}, in backward {} of {}", text, at.backward + 1, backwards());
}

}  // namespace reprise
