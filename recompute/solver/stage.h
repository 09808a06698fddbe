// What the dynamic programme does at one variable, worked out before any partial plan is looked at: which rows move
// together, how much room they have, and where the levels and states that it reads stand in a partial plan's key.
//
// Used by the dynamic programme alone. Invariant: rows of one group have had the same bytes added by every decision so
// far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "recompute/solver/dual.h"
#include "recompute/solver/potential.h"

namespace reprise::solver {

/// Bytes for the groups first..end-1 (of the stage, before closed rows are dropped).
struct GroupSpan {
  std::int32_t first = 0, end = 0;
  std::int64_t bytes = 0;
};

struct StageUse {
  std::uint64_t options = 0;
  std::int32_t level = 0;
  std::int32_t class_place = -1;  // in the old key; -1: no class asked
  std::uint8_t class_option = 0;
};

/// A shared object that the variable may lift.
struct Touched {
  std::int32_t object = 0;
  std::int32_t old_place = -1, new_place = -1;  // in the keys; -1: not there
  std::int32_t highest_ahead = 0;               // the highest level that later variables may ask for
  std::int64_t bytes = 0, time = 0;
  std::vector<std::int32_t> group_end;  // per level: its rows are the groups from [0] to below [level]
  std::vector<StageUse> uses;
};

/// A member of a factor: one of the touched objects, or one whose level stands in the old key, or neither (level 0).
struct MemberPlace {
  std::int64_t stride = 0;
  std::int32_t touched = -1, old_place = -1;
};

/// A factor of which the variable is a part.
struct TouchedFactor {
  const Potential* potential = nullptr;
  int decided_before = 0, decided_after = 0;
  std::vector<MemberPlace> members;
  std::vector<std::int32_t> class_places;  // of its classes in the old key; -1: open, -2: this variable
};

struct Stage {
  std::size_t variable = 0;
  std::vector<std::int32_t> old_group;  // per group: the group of the stage before that it was part of
  std::vector<std::int64_t> room;       // per group: the most that may be added to base here
  std::vector<std::int32_t> new_group;  // per group: its place afterwards, -1 if no later variable reaches it
  std::vector<std::int64_t> harmless;   // per new group: up to here no later choice can exceed the budget
  std::size_t new_groups = 0;
  std::vector<std::vector<GroupSpan>> spans;  // per option
  std::vector<double> excess;                 // per option: reduced cost above the least, without shares
  std::vector<Touched> touched;
  std::vector<TouchedFactor> factors;
  std::vector<std::pair<std::int32_t, std::int32_t>> moved;  // places of the key: from, to
  std::int32_t class_place = -1;                             // where a class variable puts its own state
  std::size_t key_size = 0;                                  // of the new key
};

/// Makes the stages one after the other.
class Stages {
 public:
  Stages(const Dual& dual, const std::vector<std::int32_t>& rows);
  /// The next variable's stage; valid until the next call.
  const Stage& next();
  std::size_t count() const { return model_.variables.size(); }
  double start_bound() const { return start_bound_; }

 private:
  using Rows = std::vector<std::int32_t>;  // positions in rows_

  void find_last_stages();
  void find_limits();
  void add_limits(std::size_t variable, std::int64_t sign);
  void split_groups();
  void place_spans();
  void place_objects();
  void drop_closed();
  void arrange_key();
  Touched touch(std::int32_t object) const;
  void touch_factor(std::int32_t index);
  std::int32_t group_at(std::int32_t row) const;

  const Dual& dual_;
  const Model& model_;
  Rows rows_;
  Stage stage_;
  std::size_t now_ = 0;
  double start_bound_ = 0;
  std::vector<Rows> groups_;
  std::vector<std::int32_t> last_stage_;                // per row: the last variable that can change it
  std::vector<std::int64_t> least_ahead_, most_ahead_;  // per row: what later variables add
  std::vector<std::int32_t> last_of_object_, last_of_class_;
  std::vector<std::int32_t> object_place_, class_place_;  // in the current key, -1: none
  std::vector<Potential> potentials_;                     // per factor
  std::vector<bool> has_potential_;
  std::vector<std::int32_t> open_;  // entries of the key: object j as j, class variable v as -1 - v
};

}  // namespace reprise::solver
