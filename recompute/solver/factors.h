// How variables hang together: one factor for each shared object, or for all objects whose state one class decides,
// with the variables that lift them.
//
// Built once per relaxation. Objects of one class are taken together where that stays small: apart, each could look
// cheap under the state that makes the others dear, and the bound would be loose.
// Invariant: every shared object is a member of exactly one factor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recompute/solver/model.h"

namespace reprise::solver {

constexpr int kMostClasses = 2;  // whose states are told apart in one factor; others only loosen the bound

/// A variable's part in a factor. Options that lift all members alike have one label.
struct Slot {
  std::int32_t variable = 0;
  std::int32_t labels = 0;
  std::int32_t split = 0;     // into the splits: one per label
  std::int32_t label_of = 0;  // into the labels: one per option
  std::int32_t level = 0;     // into the levels
};

struct Factor {
  std::int32_t first_slot = 0, slots = 0;  // segments first, in order
  std::int32_t class_slots = 0;            // the last ones
  std::int32_t first_member = 0, members = 0;
  std::int32_t floor = 0;                    // into the floors: member * configurations + configuration
  std::int32_t table = 0, combinations = 0;  // with several members: the cost of every combination of labels

  int configurations() const { return 1 << class_slots; }
  int segments() const { return slots - class_slots; }
};

class Factors {
 public:
  explicit Factors(const Model& model);

  const std::vector<Factor>& all() const { return factors_; }
  const Factor& operator[](std::size_t index) const { return factors_[index]; }
  const std::vector<Slot>& slots() const { return slots_; }
  const Slot& slot(const Factor& factor, int s) const { return slots_[factor.first_slot + s]; }
  std::int32_t member(const Factor& factor, int m) const { return members_[factor.first_member + m]; }
  std::int32_t factor_of(std::size_t object) const { return factor_of_[object]; }

  int label(const Slot& slot, std::size_t option) const { return labels_[slot.label_of + option]; }
  /// The level to which a label lifts a member when the classes are in a configuration (bit c: state of class c).
  int level(const Factor& factor, const Slot& slot, int member, int configuration, int label) const {
    return levels_[slot.level + (member * factor.configurations() + configuration) * slot.labels + label];
  }
  /// The level that the classes alone give a member.
  std::int32_t floor(const Factor& factor, int member, int configuration) const {
    return floors_[factor.floor + member * factor.configurations() + configuration];
  }

  std::size_t split_count() const { return splits_; }
  std::size_t table_size() const { return table_; }

 private:
  void group_by_class();
  bool small_enough(const std::vector<std::int32_t>& objects) const;
  void add(const std::vector<std::int32_t>& objects);
  void add_segment_slot(const Factor& factor, std::int32_t variable, const std::vector<std::int32_t>& classes);
  void add_class_slots(Factor& factor, const std::vector<std::int32_t>& classes);

  const Model& model_;
  std::vector<Factor> factors_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> members_, factor_of_, levels_, floors_;
  std::vector<std::uint8_t> labels_;
  std::size_t splits_ = 0, table_ = 0;
};

}  // namespace reprise::solver
