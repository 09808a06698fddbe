#include "recompute/planning/record_parts.h"

#include "core/allocator.h"
#include "memory/row_list.h"

namespace reprise {

namespace {

std::vector<RecordPart> part(const std::vector<Region>& owed) {
  std::vector<std::pair<Region, std::vector<std::size_t>>> list;
  for (std::size_t r = 0; r < owed.size(); ++r) {
    Region rest = owed[r];
    for (std::size_t i = 0, n = list.size(); i < n && !rest.empty(); ++i) {
      Region common = intersect(list[i].first, rest);
      if (common.empty()) continue;
      rest = subtract(rest, common);
      if (common == list[i].first) {
        list[i].second.push_back(r);
        continue;
      }
      list[i].first = subtract(list[i].first, common);
      std::vector<std::size_t> both = list[i].second;
      both.push_back(r);
      list.push_back({std::move(common), std::move(both)});
    }
    if (!rest.empty()) list.push_back({std::move(rest), {r}});
  }
  std::vector<RecordPart> parts;
  for (auto& [region, owners] : list) {
    std::int64_t charged = round_up_64(list_rows(region.runs()).block_bytes());
    parts.push_back({std::move(owners), region.bytes(), charged, static_cast<std::int64_t>(region.run_count())});
  }
  return parts;
}

}  // namespace

const std::vector<RecordPart>& RecordParts::of(const std::vector<Region>& owed) {
  std::vector<std::int64_t> sizes;
  for (const Region& region : owed) {
    sizes.insert(sizes.end(), {region.bytes(), static_cast<std::int64_t>(region.run_count()), region.cover().lo});
  }
  auto [at, end] = known_.equal_range(sizes);
  for (; at != end; ++at) {
    if (at->second.owed == owed) return at->second.parts;
  }
  return known_.emplace(std::move(sizes), Known{owed, part(owed)})->second.parts;
}

}  // namespace reprise
