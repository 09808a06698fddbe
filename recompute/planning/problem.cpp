#include "recompute/planning/problem.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/philox.h"

namespace reprise {

namespace {

constexpr std::size_t kMostRecords = 256;  // objects: the solver's time grows with their number

/// Adds `options` to the use of `object` by `segment` for the same class and state, or makes that use.
void add_use(solver::Object& object, const solver::Use& use) {
  for (solver::Use& other : object.uses) {
    if (other.segment == use.segment && other.read_class == use.read_class && other.state == use.state &&
        other.row == use.row) {
      other.options |= use.options;
      return;
    }
  }
  object.uses.push_back(use);
}

}  // namespace

PlanSpace simple_space(Walker& walker) {
  PlanSpace space;
  walker.look({}, [&](Tape& tape) {
    for (std::size_t i = 0; i < tape.data().segments.size(); ++i) {
      space.push_back({{"retain", ValueOption::retain, {}}, {"replay", ValueOption::replay, {}}});
    }
  });
  return space;
}

Problem::Problem(Walker& walker, PlanSpace space, const Profile& profile, std::shared_ptr<RecordParts> parts)
    : space_(std::move(space)), record_parts_(parts ? std::move(parts) : std::make_shared<RecordParts>()) {
  walker.look({}, [&](Tape& tape) {
    units_ = Units(tape.data());
    node_count_ = tape.data().nodes.size();
  });
  probe(walker);
  rows_ = probes_.front().walk->rows;
  find_readers(walker);
  objects_.base.assign(static_cast<std::size_t>(rows_.count()), walker.base());
  for (int row = 0; row < rows_.count(); ++row) objects_.row_names.push_back(rows_.name(row, units_));
  add_all(profile);
  probe_mixed(walker);
  measure_own();
  instance_ = with(measured_.most);
}

void Problem::add_all(const Profile& profile) {
  add_segments(profile);
  add_values();
  add_snapshots(profile);
  add_records(profile);
  makers_.resize(objects_.objects.size(), -1);
}

std::size_t Problem::option_in(const Probe& probe, std::uint32_t unit) const {
  std::uint32_t segment = units_[unit].segment;
  return segment == kNone ? 0 : probe.options[segment];
}

/// The option's bit where restoring the segment's run replays the node that reads, besides its own replay.
std::uint64_t Problem::twice_in(const Probe& probe, const WalkedRead& read) const {
  std::uint32_t segment = units_[read.unit].segment;
  if (segment == kNone || read.operand < 0) return 0;
  auto runs = [&](const std::vector<std::uint32_t>& nodes) { return std::find(nodes.begin(), nodes.end(), read.node); };
  const auto &needed = probe.walk->needed[segment], &restored = probe.walk->restored[segment];
  return runs(restored) != restored.end() && runs(needed) != needed.end() ? bit_in(probe, read.unit) : 0;
}

Assignment Problem::assignment_of(const std::vector<std::size_t>& options) const {
  Assignment assignment;
  assignment.choices.resize(node_count_);
  for (std::size_t s = 0; s < space_.size(); ++s) {
    const SegmentChoice& choice = space_[s][options[s]];
    assignment.segments.push_back({choice.values, StateOption::whole, choice.run, choice.run_ends});
    for (auto [node, result] : choice.kept) assignment.choices[node].kept_results |= Mask{1} << result;
  }
  return assignment;
}

void Problem::add_probe(Walker& walker, std::vector<std::size_t> options, StateOption state) {
  Probe probe{std::move(options), state, nullptr};
  Assignment assignment = assignment_of(probe.options);
  for (NodeChoice& choice : assignment.choices)
    (state == StateOption::whole ? choice.whole_updates : choice.region_updates) = ~Mask{0};
  probe.walk = std::make_shared<const Walk>(walker.walk(assignment));
  exact_ &= probe.walk->exact;
  probes_.push_back(std::move(probe));
}

void Problem::probe(Walker& walker) {
  std::size_t most = 1;
  for (const auto& options : space_) most = std::max(most, options.size());
  for (std::size_t o = 0; o < most; ++o) {
    for (StateOption state : {StateOption::whole, StateOption::region}) {
      std::vector<std::size_t> options;
      for (const auto& all : space_) options.push_back(std::min(o, all.size() - 1));
      add_probe(walker, std::move(options), state);
    }
  }
}

/// Every other segment, halves of the step, and some at random: what an option holds may depend on its neighbours'.
void Problem::probe_mixed(Walker& walker) {
  std::size_t most = 1;
  for (const auto& options : space_) most = std::max(most, options.size());
  if (space_.size() < 2 || most < 2) return;
  constexpr int kRandom = 2;
  for (int pattern = 0; pattern < 4 + kRandom; ++pattern) {
    std::vector<std::size_t> options;
    for (std::size_t s = 0; s < space_.size(); ++s) {
      std::size_t o = 0;
      if (pattern < 2)
        o = (s + static_cast<std::size_t>(pattern)) % 2;
      else if (pattern < 4)
        o = (2 * s < space_.size()) == (pattern == 2) ? 1 : 0;
      else
        o = philox_word(1, 0, static_cast<std::uint64_t>(pattern) * space_.size() + s) % space_[s].size();
      options.push_back(std::min(o, space_[s].size() - 1));
    }
    for (StateOption state : {StateOption::whole, StateOption::region}) add_probe(walker, options, state);
  }
}

void Problem::find_readers(Walker& walker) {
  std::map<ReadKey, std::size_t> at;
  std::vector<std::size_t> replay_all;
  for (const auto& options : space_) replay_all.push_back(std::min<std::size_t>(1, options.size() - 1));
  for (const Probe& probe : probes_) {
    for (const WalkedRead& read : probe.walk->reads) {
      auto [place, fresh] = at.emplace(read_key(read), readers_.size());
      if (fresh) readers_.push_back({read, 0, 0, {}, -1, {}});
      readers_[place->second].options |= bit_in(probe, read.unit);
      readers_[place->second].twice |= twice_in(probe, read);
    }
  }
  walker.look(assignment_of(replay_all), [&](Tape& tape) {
    Kills kills(tape);
    for (Reader& reader : readers_) {
      reader.parts = kills.of(reader.read);
      reader.storage = kills.storage(reader.read);
    }
  });
  std::erase_if(readers_, [](const Reader& reader) { return reader.parts.empty(); });
  number_classes();
}

void Problem::number_classes() {
  using Key = std::tuple<std::uint64_t, KillingWrite>;
  auto key_of = [&](const Reader& reader) {
    return exact_ ? Key{0, reader.parts.front().write} : Key{reader.read.storage, KillingWrite{}};
  };
  std::map<Key, int> numbers;
  for (const Reader& reader : readers_) numbers.emplace(key_of(reader), 0);
  int count = 0;
  for (auto& [key, number] : numbers) number = count++;
  classes_.resize(numbers.size());
  objects_.classes.resize(numbers.size());
  for (Reader& reader : readers_) {
    reader.read_class = numbers[key_of(reader)];
    std::vector<KillingWrite>& writes = classes_[reader.read_class];
    for (const KilledPart& part : reader.parts) {
      if (!exact_ || writes.empty()) writes.push_back(part.write);
    }
    objects_.classes[reader.read_class].name = reader.storage.name;
  }
  for (std::vector<KillingWrite>& writes : classes_) {
    std::sort(writes.begin(), writes.end());
    writes.erase(std::unique(writes.begin(), writes.end()), writes.end());
  }
}

void Problem::add_segments(const Profile& profile) {
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    solver::Segment& segment = objects_.segments.emplace_back();
    segment.name = units_[u].id;
    if (units_[u].segment == kNone) {
      segment.options.push_back({"retain", true, 0, {}});
      continue;
    }
    const auto& options = space_[units_[u].segment];
    for (std::size_t o = 0; o < options.size(); ++o) {
      solver::Option& option = segment.options.emplace_back();
      option.name = options[o].name;
      option.retain = options[o].values == ValueOption::retain;
      auto probe = std::find_if(probes_.begin(), probes_.end(), [&](const Probe& p) { return option_in(p, u) == o; });
      for (std::uint32_t node = units_[u].first_node; node < units_[u].end_node; ++node) {
        if (std::int64_t times = probe->walk->replays[node]; times > 0)
          option.time_ns += times * profile.micro_batches * profile.replay_of(node);
      }
    }
  }
  objects_.base_time_ns = profile.base_ns();
}

void Problem::add_values() {
  // Until the forward is done with a value it is there whatever is chosen, and part of what those rows were measured to
  // hold; an object is what stays of it.
  std::map<ValueId, solver::Object> objects;
  std::map<ValueId, std::uint32_t> makers;
  for (const Probe& probe : probes_) {
    for (const WalkedValue& value : probe.walk->values) {
      solver::Object& object = objects[value.value];
      std::uint32_t born = makers[value.value] = units_.of_node(value.node);
      object.bytes = std::max(object.bytes, value.charged);
      object.birth = std::max(object.birth, value.forward_end + 1);
      if (object.name.empty())
        object.name = fmt::format("{}#{}", units_[born].id, value.node - units_[born].first_node);
      for (const WalkedUser& user : value.users) {
        if (bit_in(probe, user.unit) == 0) continue;
        add_use(object, {static_cast<std::int32_t>(user.unit), bit_in(probe, user.unit), user.last_row, -1,
                         solver::StateChoice::whole});
      }
    }
  }
  for (auto& entry : objects) {
    solver::Object& object = entry.second;
    if (object.uses.empty()) continue;  // only options that this space does not have owe it
    auto first = static_cast<std::uint32_t>(object.uses.front().segment);
    bool alone = std::all_of(object.uses.begin(), object.uses.end(),
                             [&](const solver::Use& use) { return use.segment == object.uses.front().segment; });
    // Inside its only user's own backward it is part of what that row was measured to hold.
    for (solver::Use& use : object.uses) {
      if (alone && rows_[use.row].unit == first) --use.row;
    }
    std::erase_if(object.uses, [&](const solver::Use& use) { return use.row < object.birth; });
    if (object.uses.empty()) continue;
    objects_.objects.push_back(std::move(object));
    makers_.push_back(makers[entry.first]);
  }
}

void Problem::add_snapshots(const Profile& profile) {
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    solver::Object object;
    object.birth = rows_.of_node(classes_[c].front().node);
    for (const Reader& reader : readers_) {
      if (reader.read_class != static_cast<int>(c)) continue;
      if (!exact_ && !object.uses.empty()) {  // each read may need a copy of its own
        objects_.objects.push_back(object);
        object.uses.clear();
      }
      object.name = "snapshot of " + reader.storage.name;
      object.bytes = round_up_64(reader.storage.bytes);
      object.time_ns = profile.micro_batches * profile.copy.of(reader.storage.bytes, 1);
      add_use(object, {static_cast<std::int32_t>(reader.read.unit), reader.options, reader.read.last_row,
                       static_cast<std::int32_t>(c), solver::StateChoice::whole});
    }
    objects_.objects.push_back(std::move(object));
  }
}

void Problem::add_records(const Profile& profile) {
  std::map<KillingWrite, std::pair<std::vector<Region>, std::vector<std::size_t>>> killed;  // with who owes it
  for (std::size_t r = 0; r < readers_.size(); ++r) {
    for (const KilledPart& part : readers_[r].parts) {
      killed[part.write].first.push_back(part.part);
      killed[part.write].second.push_back(r);
    }
  }
  Records records;
  for (const auto& [write, owed] : killed) {
    for (const RecordPart& part : record_parts_->of(owed.first)) add_record(records, write, part, owed.second, profile);
  }
  if (records.objects.size() > kMostRecords) {
    add_by_last_use(records);
  } else {
    for (auto& [key, object] : records.objects) objects_.objects.push_back(std::move(object));
  }
  for (const auto& [key, joint] : records.exchanges) objects_.joint_times.push_back(joint);
}

/// Where many segments read rows of a table at random, nearly every row that a write overwrites has readers of its own:
/// thousands of records of a few rows. All of one write that are dropped at the same row are then one object, which is
/// there as soon as any of its readers is served by region. That is never less than the records hold.
void Problem::add_by_last_use(const Records& records) {
  std::map<std::pair<KillingWrite, std::int32_t>, solver::Object> merged;
  for (const auto& [key, object] : records.objects) {
    std::int32_t last = 0;
    for (const solver::Use& use : object.uses) last = std::max(last, use.row);
    auto [at, fresh] = merged.emplace(std::pair(key.first, last), object);
    if (fresh) continue;
    for (const solver::Use& use : object.uses) add_use(at->second, use);
    at->second.bytes = std::min(at->second.bytes + object.bytes, records.whole.at(key.first));
    at->second.time_ns += object.time_ns;
  }
  for (auto& [key, object] : merged) objects_.objects.push_back(std::move(object));
}

/// One object for all records of one write that the same uses keep alive, and one time for all that a segment exchanges
/// for a class: they come and go together.
void Problem::add_record(Records& records, const KillingWrite& write, const RecordPart& part,
                         const std::vector<std::size_t>& readers, const Profile& profile) {
  solver::Object object;
  const KilledStorage& storage = readers_[readers[part.owners.front()]].storage;
  object.name = "record of " + storage.name;
  std::int64_t whole = records.whole[write] = round_up_64(storage.bytes);
  object.bytes = std::min(part.charged, whole);
  object.time_ns = profile.micro_batches * profile.gather.of(part.bytes, part.runs);
  object.birth = rows_.of_node(write.node);
  for (std::size_t owner : part.owners) {
    const Reader& reader = readers_[readers[owner]];
    add_use(object, {static_cast<std::int32_t>(reader.read.unit), reader.options, reader.read.last_row,
                     reader.read_class, solver::StateChoice::region});
  }
  std::vector<std::array<std::uint64_t, 4>> uses;
  for (const solver::Use& use : object.uses) {
    auto segment = static_cast<std::uint64_t>(use.segment), read_class = static_cast<std::uint64_t>(use.read_class);
    uses.push_back({segment, use.options, static_cast<std::uint64_t>(use.row), read_class});
  }
  add_exchanges(records, part, readers, profile);
  std::sort(uses.begin(), uses.end());
  auto [at, fresh] = records.objects.emplace(std::pair(write, std::move(uses)), object);
  if (fresh) return;
  at->second.bytes = std::min(at->second.bytes + object.bytes, whole);
  at->second.time_ns += object.time_ns;
}

/// In each backward that visits it a segment opens and closes a record once for all of its reads, and once more where
/// its run is restored.
void Problem::add_exchanges(Records& records, const RecordPart& part, const std::vector<std::size_t>& readers,
                            const Profile& profile) {
  std::int64_t there_and_back = 2 * profile.micro_batches * profile.exchange.of(part.bytes, part.runs);
  auto same = [&](std::size_t a, std::size_t b) {
    const Reader &one = readers_[readers[a]], &other = readers_[readers[b]];
    return one.read.unit == other.read.unit && one.read_class == other.read_class;
  };
  for (std::size_t i = 0; i < part.owners.size(); ++i) {
    std::uint64_t options = 0, twice = 0;
    int visits = 1;
    bool told = false;
    for (std::size_t j = 0; j < part.owners.size() && !told; ++j) {
      if (!same(part.owners[i], part.owners[j])) continue;
      told = j < i;
      const Reader& reader = readers_[readers[part.owners[j]]];
      options |= reader.options;
      twice |= reader.twice;
      visits = std::max(visits, rows_.visits(reader.read.unit, reader.read.last_row));
    }
    if (told) continue;
    const Reader& reader = readers_[readers[part.owners[i]]];
    auto add_time = [&](std::uint64_t by, std::int64_t times) {
      if (by == 0) return;
      solver::JointTime& joint =
          records.exchanges[{reader.read.unit, by, static_cast<std::uint64_t>(reader.read_class)}];
      joint = {static_cast<std::int32_t>(reader.read.unit), by, reader.read_class, solver::StateChoice::region,
               joint.time_ns + times * there_and_back};
    };
    add_time(options & ~twice, visits);
    add_time(twice, visits + 1);
  }
}

solver::Choice Problem::choice_of(const Probe& probe) const {
  solver::Choice choice;
  for (std::uint32_t u = 0; u < units_.size(); ++u)
    choice.options.push_back(static_cast<std::uint8_t>(option_in(probe, u)));
  choice.states.assign(classes_.size(),
                       probe.state == StateOption::whole ? solver::StateChoice::whole : solver::StateChoice::region);
  return choice;
}

Assignment Problem::assignment(const solver::Choice& choice, StateOption fallback) const {
  std::vector<std::size_t> options(space_.size(), 0);  // a segment without nodes is no unit: retained
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    if (units_[u].segment != kNone) options[units_[u].segment] = choice.options[u];
  }
  Assignment assignment = assignment_of(options);
  for (SegmentOption& option : assignment.segments) option.state = fallback;
  assignment.fallback.state = fallback;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    for (const KillingWrite& write : classes_[c]) {
      NodeChoice& node = assignment.choices[write.node];
      (choice.states[c] == solver::StateChoice::whole ? node.whole_updates : node.region_updates) |= Mask{1}
                                                                                                     << write.update;
    }
  }
  return assignment;
}

}  // namespace reprise
