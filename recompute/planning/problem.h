// Problem: the planning problem of one step on one tape (of a micro-batch, in training), built from walks and a
// profile; and the way back from a solver's choice to what the tape is told.
//
// Note on bytes. Objects (kept values, boundaries, records, snapshots) come from the trace. What a row holds besides
// (workspace, cotangents, the live set of a replay) is measured: its level in a walk, less the objects alive in it. The
// same option may hold a little more in one plan than in another, since blocks are rounded and merged; so two figures
// stand for it, the least and the most of all walks so far. Times under the least are bounds that certify; what a plan
// promises is the peak of its own walk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "recompute/planning/kills.h"
#include "recompute/planning/plan.h"
#include "recompute/planning/profile.h"
#include "recompute/planning/record_parts.h"
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

/// Bytes of a unit's rows besides objects, per unit, option and row (StepRows::of_unit).
using OwnBytes = std::vector<std::vector<std::vector<std::int64_t>>>;

struct MeasuredBytes {
  OwnBytes least, most;
};

class Problem {
 public:
  /// Walks the step a few times for each option and state, and in plans that mix them. `parts`: those of other problems
  /// of the same step, whose records need not be parted again. Errors: those of recording it.
  Problem(Walker& walker, PlanSpace space, const Profile& profile, std::shared_ptr<RecordParts> parts = nullptr);
  /// `base` with some of the runs of a cut, put together without a walk: what a segment owes and holds depends on its
  /// own option, so that of runs comes from `cut`, in which all runs were walked at once, and the rest from `base`.
  /// Its bytes are a guess where neighbours matter: no bound follows from it, and its plans are walked as all are.
  Problem(const Problem& base, const Problem& cut, PlanSpace space, const Profile& profile);

  /// With the most bytes that were measured.
  const solver::Instance& instance() const { return instance_; }
  /// With other bytes.
  solver::Instance with(const OwnBytes& own) const;
  const MeasuredBytes& measured() const { return measured_; }
  const PlanSpace& space() const { return space_; }
  const std::shared_ptr<RecordParts>& record_parts() const { return record_parts_; }
  const Units& units() const { return units_; }
  const StepRows& rows() const { return rows_; }
  /// The killing writes of each class of the instance: one; or, where rows follow from data, all of its storage, since
  /// which of them is the first to break a read is then not known.
  const std::vector<std::vector<KillingWrite>>& classes() const { return classes_; }

  /// What the tape is told. States that no class names go by `fallback`.
  Assignment assignment(const solver::Choice& choice, StateOption fallback) const;
  /// A plan of this step as a choice here; nothing where an option of it is not in this space.
  std::optional<solver::Choice> choice_of(const Plan& plan) const;
  /// Widens `bytes` by what a walk under `choice` found.
  void learn(MeasuredBytes& bytes, const solver::Choice& choice, const std::vector<std::int64_t>& row_peaks) const;
  /// Raises `own` to what that walk found in rows of more than `cap` bytes. True if anything changed.
  bool raise(OwnBytes& own, const solver::Choice& choice, const std::vector<std::int64_t>& row_peaks,
             std::int64_t cap) const;

  /// An easier problem in which every plan with two-level runs is told at no more time and bytes than it takes: each
  /// segment behind another may be replayed from values that the one before it is replayed for once more.
  /// `restore_ns`: what that costs, per unit.
  solver::Instance with_runs_eased(const OwnBytes& own, const std::vector<std::int64_t>& restore_ns) const;

 private:
  static constexpr std::size_t kNotHere = SIZE_MAX;  // an option of a probe that this space does not have
  struct Probe {
    std::vector<std::size_t> options;  // per explicit segment
    StateOption state = StateOption::whole;
    std::shared_ptr<const Walk> walk;  // shared with problems made of this one
  };
  struct Reader {  // a read that some option owes
    WalkedRead read;
    std::uint64_t options = 0;
    std::uint64_t twice = 0;  // of these, in which it is opened twice: to restore a run, and for the replay itself
    std::vector<KilledPart> parts;
    int read_class = -1;
    KilledStorage storage;
  };

  using ReadKey = std::tuple<std::uint32_t, int, std::uint32_t, int>;
  /// The same in every walk, unlike the number of its storage.
  static ReadKey read_key(const WalkedRead& read) { return {read.node, read.operand, read.unit, read.last_row}; }

  struct Records {  // by write and uses; by segment, options and class
    std::map<std::pair<KillingWrite, std::vector<std::array<std::uint64_t, 4>>>, solver::Object> objects;
    std::map<std::array<std::uint64_t, 3>, solver::JointTime> exchanges;
    std::map<KillingWrite, std::int64_t> whole;  // bytes of a copy of the storage that is written
  };

  std::size_t option_in(const Probe& probe, std::uint32_t unit) const;
  std::uint64_t bit_in(const Probe& probe, std::uint32_t unit) const {
    std::size_t option = option_in(probe, unit);
    return option == kNotHere ? 0 : std::uint64_t{1} << option;
  }
  std::uint64_t twice_in(const Probe& probe, const WalkedRead& read) const;
  Assignment assignment_of(const std::vector<std::size_t>& options) const;
  void probe(Walker& walker);
  void probe_mixed(Walker& walker);
  void add_probe(Walker& walker, std::vector<std::size_t> options, StateOption state);
  void find_readers(Walker& walker);
  void take_probes(const Problem& from, bool runs);
  void take_readers(const Problem& base, const Problem& cut);
  void add_all(const Profile& profile);
  void number_classes();
  void add_segments(const Profile& profile);
  void add_values();
  void add_snapshots(const Profile& profile);
  void add_records(const Profile& profile);
  void add_by_last_use(const Records& records);
  void add_record(Records& records, const KillingWrite& write, const RecordPart& part,
                  const std::vector<std::size_t>& readers, const Profile& profile);
  void add_exchanges(Records& records, const RecordPart& part, const std::vector<std::size_t>& readers,
                     const Profile& profile);
  void measure_own();
  std::vector<std::int64_t> beside_objects(const solver::Choice& choice,
                                           const std::vector<std::int64_t>& row_peaks) const;
  solver::Choice choice_of(const Probe& probe) const;

  PlanSpace space_;
  Units units_;
  StepRows rows_;
  std::size_t node_count_ = 0;
  std::vector<Probe> probes_;
  std::vector<Reader> readers_;
  std::vector<std::vector<KillingWrite>> classes_;
  bool exact_ = true;  // no row that is read or written follows from data
  std::shared_ptr<RecordParts> record_parts_;
  MeasuredBytes measured_;
  std::vector<std::int64_t> makers_;  // per object: the unit whose value it is, or -1
  solver::Instance objects_;          // without what is measured
  solver::Instance instance_;
};

}  // namespace reprise
