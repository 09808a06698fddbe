// A trace as an instance. A value that the backward reads is kept if its segment is retained, and made again in the row
// of the backward that first reads the segment; a replay reads its inputs there, so they are kept that long, or copied
// before they are overwritten.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "tools/bench/planner_traces.h"

namespace reprise::bench {
namespace {

using solver::Instance;
using solver::Object;
using solver::StateChoice;

constexpr double kCopyBytesPerNs = 300;  // of the accelerators that the traces were taken on, half of their bandwidth
constexpr std::uint64_t kRetain = 1, kReplay = 2;

class Builder {
 public:
  Builder(const Trace& trace, int segments) : trace_(trace), rows_(static_cast<std::int32_t>(trace.ops.size())) {
    instance_.name = trace.name;
    find_lives();
    cut(segments);
    find_needs();
  }

  Instance run() {
    for (const TraceOp& op : trace_.ops) instance_.base_time_ns += op.time_ns;
    for (std::int32_t m = 0; m < segment_count_; ++m) add_segment(m);
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(trace_.bytes.size()); ++s) add_value(s);
    for (auto& [value, uses] : boundaries_) add_boundary(value, uses);
    for (auto& [key, uses] : overwritten_) add_overwritten(key.first, key.second, uses);
    make_base();
    return std::move(instance_);
  }

 private:
  struct Life {
    std::int32_t birth = -1, death = -1;  // rows, both included
    std::int32_t last_forward = -1;       // the last forward operator that touches it
    std::int32_t owner = -1;              // segment of the last forward operator that made or wrote it
    std::int32_t first_backward_read = -1;
    bool constant = false;
    std::vector<std::pair<std::int32_t, std::int32_t>> writes;  // (row, new version)
  };

  void find_lives() {
    lives_.resize(trace_.bytes.size());
    for (std::int32_t t = 0; t < rows_; ++t) {
      const TraceOp& op = trace_.ops[t];
      for (std::int32_t s : op.made) {
        lives_[s].birth = t;
        lives_[s].death = rows_ - 1;
        lives_[s].constant = op.constant;
      }
      for (std::int32_t s : op.freed) lives_[s].death = t;
      for (const TraceValue& value : op.writes) lives_[value.storage].writes.emplace_back(t, value.version);
      if (op.backward) {
        for (const TraceValue& value : op.reads) {
          auto& first = lives_[value.storage].first_backward_read;
          if (first < 0) first = t;
        }
        continue;
      }
      for (std::int32_t s : op.made) lives_[s].last_forward = t;
      for (const TraceValue& value : op.reads) lives_[value.storage].last_forward = t;
      for (const TraceValue& value : op.writes) lives_[value.storage].last_forward = t;
    }
  }

  void cut(int segments) {
    std::vector<std::int32_t> forward;
    bool backward = false;
    for (std::int32_t t = 0; t < rows_; ++t) {
      backward = backward || trace_.ops[t].backward;
      if (!trace_.ops[t].backward && !trace_.ops[t].constant && trace_.ops[t].time_ns > 0) forward.push_back(t);
    }
    if (!backward || forward.empty())
      fail(ErrorKind::user, "[bench] expected a trace with a backward, got {} without one", trace_.name);
    segment_count_ = static_cast<std::int32_t>(std::min<std::size_t>(segments, forward.size()));
    segment_of_.assign(rows_, -1);
    for (std::size_t i = 0; i < forward.size(); ++i) {
      segment_of_[forward[i]] = static_cast<std::int32_t>(i * segment_count_ / forward.size());
    }
    // Operators that take no time go with the one before them.
    for (std::int32_t t = 1; t < rows_; ++t) {
      if (segment_of_[t] < 0 && !trace_.ops[t].backward && !trace_.ops[t].constant) segment_of_[t] = segment_of_[t - 1];
    }
    for (std::int32_t t = 0; t < rows_; ++t) {
      if (segment_of_[t] < 0) continue;
      for (std::int32_t s : trace_.ops[t].made) lives_[s].owner = segment_of_[t];
      for (const TraceValue& value : trace_.ops[t].writes) {
        if (!lives_[value.storage].constant) lives_[value.storage].owner = segment_of_[t];
      }
    }
  }

  bool read_in_backward(std::int32_t s) const { return lives_[s].first_backward_read >= 0 && lives_[s].owner >= 0; }

  /// Which operators a replay runs: those that lead to a value of the segment that the backward reads.
  void find_needs() {
    replay_row_.assign(segment_count_, -1);
    for (const Life& life : lives_) {
      if (life.owner < 0 || life.first_backward_read < 0) continue;
      auto& row = replay_row_[life.owner];
      row = row < 0 ? life.first_backward_read : std::min(row, life.first_backward_read);
    }
    needed_.assign(rows_, false);
    std::vector<bool> wanted(trace_.bytes.size(), false);
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(wanted.size()); ++s) wanted[s] = read_in_backward(s);
    std::vector<std::set<std::int32_t>> inside(segment_count_);
    for (std::int32_t t = rows_; t-- > 0;) {
      std::int32_t m = segment_of_[t];
      if (m < 0) continue;
      auto is_wanted = [&](std::int32_t s) { return (wanted[s] && lives_[s].owner == m) || inside[m].count(s) > 0; };
      const TraceOp& op = trace_.ops[t];
      bool needed = std::any_of(op.made.begin(), op.made.end(), is_wanted) ||
                    std::any_of(op.writes.begin(), op.writes.end(), [&](TraceValue v) { return is_wanted(v.storage); });
      if (!needed) continue;
      needed_[t] = true;
      for (const TraceValue& value : op.reads) inside[m].insert(value.storage);
      for (const TraceValue& value : op.writes) inside[m].insert(value.storage);
    }
  }

  void add_segment(std::int32_t m) {
    solver::Segment segment{fmt::format("segment {}", m), {{"retain", true, 0, {}}}};
    std::int64_t time = 0, live = 0, most = 0;
    std::set<std::int32_t> made;
    for (std::int32_t t = 0; t < rows_; ++t) {
      if (segment_of_[t] != m || !needed_[t]) continue;
      const TraceOp& op = trace_.ops[t];
      time += op.time_ns;
      for (std::int32_t s : op.made) {
        made.insert(s);
        if (!read_in_backward(s)) live += trace_.bytes[s];
      }
      most = std::max(most, live);
      for (std::int32_t s : op.freed) {
        if (made.count(s) > 0 && !read_in_backward(s)) live -= trace_.bytes[s];
      }
      note_reads(m, t);
    }
    if (replay_row_[m] >= 0) segment.options.push_back({"replay", false, time, {{replay_row_[m], most}}});
    instance_.segments.push_back(std::move(segment));
  }

  /// What a replay reads from outside its segment: values as they still are, or versions that are gone by then.
  void note_reads(std::int32_t m, std::int32_t t) {
    std::int32_t row = replay_row_[m];
    if (row < 0) return;
    auto note = [&](TraceValue value) {
      const Life& life = lives_[value.storage];
      auto gone = std::find_if(life.writes.begin(), life.writes.end(),
                               [&](const auto& write) { return write.second > value.version && write.first < row; });
      bool own = life.birth >= 0 && segment_of_[life.birth] == m;
      if (own) return;
      if (gone != life.writes.end()) {
        overwritten_[{value.storage, gone->first}].push_back({m, kReplay, row, -1, StateChoice::whole});
      } else if (!life.constant) {
        boundaries_[value.storage].push_back({m, kReplay, row, -1, StateChoice::whole});
      }
    };
    for (const TraceValue& value : trace_.ops[t].reads) note(value);
    for (const TraceValue& value : trace_.ops[t].writes) note({value.storage, value.version - 1});
  }

  /// A value that the backward reads: kept under retain; under replay it comes back where its segment is replayed.
  void add_value(std::int32_t s) {
    if (!read_in_backward(s)) return;
    const Life& life = lives_[s];
    boundaries_[s].push_back({life.owner, kRetain, life.death, -1, StateChoice::whole});
    Object again{fmt::format("storage {} again", s), trace_.bytes[s], 0, replay_row_[life.owner], {}};
    again.uses.push_back({life.owner, kReplay, life.death, -1, StateChoice::whole});
    instance_.objects.push_back(std::move(again));
  }

  void add_boundary(std::int32_t s, std::vector<solver::Use>& uses) {
    const Life& life = lives_[s];
    // Before that it is there whatever is chosen.
    std::int32_t birth = (read_in_backward(s) ? life.last_forward : std::max(life.last_forward, life.death)) + 1;
    if (birth < rows_) instance_.objects.push_back({fmt::format("storage {}", s), trace_.bytes[s], 0, birth, uses});
  }

  void add_overwritten(std::int32_t s, std::int32_t write, std::vector<solver::Use> uses) {
    auto index = static_cast<std::int32_t>(instance_.classes.size());
    instance_.classes.push_back({fmt::format("storage {} before operator {}", s, write)});
    auto time = static_cast<std::int64_t>(static_cast<double>(trace_.bytes[s]) / kCopyBytesPerNs) + 5000;
    for (StateChoice state : {StateChoice::whole, StateChoice::region}) {
      for (solver::Use& use : uses) {
        use.read_class = index;
        use.state = state;
      }
      // Every write covers its storage, so that a record is as large as a copy.
      const char* what = state == StateChoice::whole ? "snapshot" : "record";
      instance_.objects.push_back({fmt::format("{} of storage {}", what, s), trace_.bytes[s], time, write, uses});
    }
  }

  /// The live bytes of the trace, less what the objects hold when everything is retained.
  void make_base() {
    std::vector<std::int64_t> change(rows_ + 1, 0);
    for (std::size_t s = 0; s < lives_.size(); ++s) {
      const Life& life = lives_[s];
      if (life.birth < 0) continue;
      change[life.birth] += trace_.bytes[s];
      change[life.death + 1] -= trace_.bytes[s];
    }
    for (const Object& object : instance_.objects) {
      std::int32_t last = -1;
      for (const solver::Use& use : object.uses) {
        if (use.read_class < 0 && (use.options & kRetain) != 0) last = std::max(last, use.row);
      }
      if (last < object.birth) continue;
      change[object.birth] -= object.bytes;
      change[last + 1] += object.bytes;
    }
    std::int64_t running = 0;
    for (std::int32_t t = 0; t < rows_; ++t) {
      running += change[t];
      instance_.base.push_back(running + trace_.ops[t].own_bytes);
    }
  }

  const Trace& trace_;
  std::int32_t rows_;
  std::int32_t segment_count_ = 0;
  Instance instance_;
  std::vector<Life> lives_;
  std::vector<std::int32_t> segment_of_, replay_row_;            // per row; per segment, -1: nothing to replay for
  std::vector<bool> needed_;                                     // per row
  std::map<std::int32_t, std::vector<solver::Use>> boundaries_;  // by storage
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<solver::Use>> overwritten_;  // by storage and write
};

}  // namespace

Instance instance_of(const Trace& trace, int segments) { return Builder(trace, segments).run(); }

}  // namespace reprise::bench
