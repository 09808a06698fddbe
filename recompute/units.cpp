#include "recompute/units.h"

#include <map>

namespace reprise {

Units::Units(const TapeData& data) : of_segment_(data.segments.size(), kNone) {
  std::map<std::string, int> seen;
  for (std::uint32_t n = 0; n < data.nodes.size(); ++n) {
    std::uint32_t segment = data.nodes[n].segment;
    if (units_.empty() || units_.back().segment != segment) {
      Unit unit{segment == kNone ? "(outside)" : data.segments[segment].name, segment, n, n};
      int occurrence = ++seen[unit.id];
      if (occurrence > 1) unit.id += "/" + std::to_string(occurrence);
      if (segment != kNone) of_segment_[segment] = static_cast<std::uint32_t>(units_.size());
      units_.push_back(std::move(unit));
    }
    units_.back().end_node = n + 1;
    of_node_.push_back(static_cast<std::uint32_t>(units_.size() - 1));
  }
}

std::uint32_t Units::of_replay(const TapeData& data, std::uint32_t node) const {
  std::uint32_t segment = data.nodes[node].segment;
  if (!data.segments[segment].run_counted) return of_node(node);
  while (segment + 1 < data.segments.size() && !data.segments[segment].option.run_ends) ++segment;
  return of_segment(segment);
}

}  // namespace reprise
