// A write to a storage with few pending reads: they are asked one by one, which is cheaper than to enter all their rows
// into the index as long as few writes come.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "memory/ledger.h"

namespace reprise {

namespace {
constexpr std::size_t kFewReads = 32;  // a set of them is a word
// What it takes to enter a run into the index, against looking at it once; and what any index takes, in runs.
constexpr std::int64_t kIndexing = 4, kFixedRuns = 64;
}  // namespace

/// Whether the next write asks the reads one by one: until that has cost as much as an index would.
bool Preserver::State::has_few(const Ledger& ledger) const {
  if (!ledger.index.empty() || ledger.fresh.size() > kFewReads) return false;
  if (ledger.fresh.size() <= 1) return true;
  std::int64_t runs = kFixedRuns;
  for (ReadId id : ledger.fresh) runs += static_cast<std::int64_t>(reads[id].region.run_count());
  return ledger.looked <= kIndexing * runs;
}

/// What a write breaks, as the index would find it.
void Preserver::State::find_in_few(Ledger& ledger, const Region& region, PreserveBy by) {
  found.be_empty();
  broken.clear();
  for (ReadId id : ledger.fresh) {
    const Read& read = reads[id];
    bool whole = by == PreserveBy::as_asked ? read.option == StateOption::whole : by == PreserveBy::whole;
    if (whole && read.pieces.empty()) {
      if (read.region.overlaps(region)) found.add_whole(id);
      continue;
    }
    Region part = region.contains(read.region) ? read.region : intersect(read.region, region);
    if (!read.broken.empty()) part = subtract(part, read.broken);
    ledger.looked += static_cast<std::int64_t>(1 + region.run_count() + read.broken.run_count());
    if (!part.empty()) broken.push_back({id, std::move(part), Region()});
  }
  if (broken.size() == 1)
    found.add_claim(broken.front().read, broken.front().part.runs());
  else if (!broken.empty())
    part_broken();
}

/// Claims, one for each set of reads that owe some of the broken bytes together, in the order of their first bytes.
void Preserver::State::part_broken() {
  RecycledVector<std::span<const Run>> left;  // of each read, from the bytes at hand on
  for (const Broken& one : broken) left.push_back(one.part.runs());
  using Entry = std::pair<const std::uint32_t, std::uint32_t>;
  std::unordered_map<std::uint32_t, std::uint32_t, std::hash<std::uint32_t>, std::equal_to<std::uint32_t>,
                     Recycled<Entry>>
      claim_of;
  RecycledVector<ReadId> readers;
  std::int64_t at = 0;
  for (;;) {
    std::uint32_t set = 0;
    std::int64_t next = INT64_MAX;
    for (std::size_t r = 0; r < left.size(); ++r) {
      if (!left[r].empty() && left[r].front().hi <= at) left[r] = left[r].subspan(1);
      if (left[r].empty()) continue;
      bool here = left[r].front().lo <= at;
      set |= static_cast<std::uint32_t>(here) << r;
      next = std::min(next, here ? left[r].front().hi : left[r].front().lo);
    }
    if (next == INT64_MAX) break;
    if (set != 0) {
      auto [claim, fresh] = claim_of.try_emplace(set, 0);
      if (fresh) {
        readers.clear();
        for (std::uint32_t rest = set; rest != 0; rest &= rest - 1)
          readers.push_back(broken[static_cast<std::size_t>(std::countr_zero(rest))].read);
        claim->second = found.add_claim(readers);
      }
      found.add_run(claim->second, {at, next});
    }
    at = next;
  }
  found.finish();
}

/// What take_from_few() puts in place.
void Preserver::State::unite_broken() {
  for (Broken& one : broken) {
    const Region& before = reads[one.read].broken;
    one.after = before.empty() ? one.part : unite(before, one.part);
  }
}

/// The write has been made good: what it broke is no longer live.
void Preserver::State::take_from_few(Ledger& ledger) noexcept {
  for (Broken& one : broken) {
    Read& read = reads[one.read];
    read.broken = std::move(one.after);
    if (read.broken.bytes() == read.region.bytes()) unlist(ledger, read);
  }
  broken.clear();
}

}  // namespace reprise
