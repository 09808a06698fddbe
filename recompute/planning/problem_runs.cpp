// A problem with two-level runs, put together from problems that were walked before.
#include "recompute/planning/problem.h"

namespace reprise {

Problem::Problem(const Problem& base, const Problem& cut, PlanSpace space, const Profile& profile)
    : space_(std::move(space)),
      units_(base.units_),
      rows_(base.rows_),
      node_count_(base.node_count_),
      exact_(base.exact_ && cut.exact_),
      record_parts_(base.record_parts_),
      measured_(base.measured_) {
  take_probes(base, false);
  take_probes(cut, true);
  take_readers(base, cut);
  objects_.base = base.objects_.base;
  objects_.row_names = base.objects_.row_names;
  add_all(profile);
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    if (units_[u].segment == kNone || space_[units_[u].segment].front().run == 0) continue;
    measured_.least[u] = cut.measured_.least[u];
    measured_.most[u] = cut.measured_.most[u];
  }
  instance_ = with(measured_.most);
}

/// The probes of `from`; of their options those of segments that are in runs, or those of all others.
void Problem::take_probes(const Problem& from, bool runs) {
  for (const Probe& probe : from.probes_) {
    Probe& taken = probes_.emplace_back(probe);
    for (std::size_t s = 0; s < space_.size(); ++s) {
      if ((space_[s].front().run != 0) != runs) taken.options[s] = kNotHere;
    }
  }
}

/// The reads that some option of this space owes, with the writes that kill them as `base` and `cut` found them.
void Problem::take_readers(const Problem& base, const Problem& cut) {
  std::map<ReadKey, std::size_t> at;
  for (const Problem* from : {&base, &cut}) {
    for (const Reader& reader : from->readers_) {
      if (!at.emplace(read_key(reader.read), readers_.size()).second) continue;
      readers_.push_back(reader);
      readers_.back().options = readers_.back().twice = 0;
    }
  }
  for (const Probe& probe : probes_) {
    for (const WalkedRead& read : probe.walk->reads) {
      auto reader = at.find(read_key(read));
      if (reader == at.end()) continue;
      readers_[reader->second].options |= bit_in(probe, read.unit);
      readers_[reader->second].twice |= twice_in(probe, read);
    }
  }
  std::erase_if(readers_, [](const Reader& reader) { return reader.options == 0; });
  number_classes();
}

}  // namespace reprise
