// Problem: the planning problem of one micro-batch, built from walks and a profile; and the way back from a solver's
// choice to what the tape is told.
//
// Note on bytes. Objects (kept values, boundaries, records, snapshots) come from the trace. What a row holds besides
// (`own`: workspace, cotangents, the live set of a replay) is measured: the row's level in a walk in which all segments
// take the same option, less the objects alive in it. A plan that mixes options may differ by a little, so the planner
// walks every plan and tells the problem what it found (`learn`); what a plan promises is the walk's peak.
#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "recompute/planning/kills.h"
#include "recompute/planning/profile.h"
#include "recompute/planning/walk.h"
#include "recompute/solver/instance.h"

namespace reprise {

/// One way to treat a segment. Option 0 is to retain it.
struct SegmentChoice {
  std::string name;
  ValueOption values = ValueOption::retain;
  std::vector<std::pair<std::uint32_t, int>> kept;  // (node, result) kept though the segment is replayed
  std::uint32_t run = 0;                            // of a two-level run: its number
  bool run_ends = false;
};

/// What each explicit segment may do.
using PlanSpace = std::vector<std::vector<SegmentChoice>>;

/// Retain or replay, for every segment of the tape that `walker` records.
PlanSpace simple_space(Walker& walker);

class Problem {
 public:
  /// Walks the step once per option and state. Errors: those of recording it.
  Problem(Walker& walker, PlanSpace space, const Profile& profile);

  const solver::Instance& instance() const { return instance_; }
  const PlanSpace& space() const { return space_; }
  const Units& units() const { return units_; }
  /// The killing writes of each class of the instance: one; or, where rows follow from data, all of its storage, since
  /// which of them is the first to break a read is then not known.
  const std::vector<std::vector<KillingWrite>>& classes() const { return classes_; }

  /// What the tape is told. States that no class names go by `fallback`.
  Assignment assignment(const solver::Choice& choice, StateOption fallback) const;
  /// Corrects the problem where a walk under `choice` found more than was thought. True if anything changed.
  bool learn(const solver::Choice& choice, const std::vector<std::int64_t>& row_peaks);

 private:
  struct Probe {
    std::vector<std::size_t> options;  // per explicit segment
    StateOption state = StateOption::whole;
    Walk walk;
  };
  struct Reader {  // a read that some option owes
    WalkedRead read;
    std::uint64_t options = 0;
    std::vector<KilledPart> parts;
    int read_class = -1;
    KilledStorage storage;
  };

  struct Records {  // by write and uses; by segment, options and class
    std::map<std::pair<KillingWrite, std::vector<std::array<std::uint64_t, 4>>>, solver::Object> objects;
    std::map<std::array<std::uint64_t, 3>, solver::JointTime> exchanges;
    std::map<KillingWrite, std::int64_t> whole;  // bytes of a copy of the storage that is written
  };

  std::size_t option_in(const Probe& probe, std::uint32_t unit) const;
  std::uint64_t bit_in(const Probe& probe, std::uint32_t unit) const {
    return std::uint64_t{1} << option_in(probe, unit);
  }
  Assignment assignment_of(const std::vector<std::size_t>& options) const;
  void probe(Walker& walker);
  void find_readers(Walker& walker);
  void number_classes();
  void add_segments(const Profile& profile);
  void add_values();
  void add_snapshots(const Profile& profile);
  void add_records(const Profile& profile);
  void add_by_last_use(const Records& records);
  void add_record(Records& records, const KillingWrite& write, const Region& region,
                  const std::vector<std::size_t>& readers, const Profile& profile);
  void measure_own();
  solver::Choice choice_of(const Probe& probe) const;

  PlanSpace space_;
  Units units_;
  std::size_t node_count_ = 0;
  std::vector<Probe> probes_;
  std::vector<Reader> readers_;
  std::vector<std::vector<KillingWrite>> classes_;
  bool exact_ = true;  // no row that is read or written follows from data
  solver::Instance instance_;
};

}  // namespace reprise
