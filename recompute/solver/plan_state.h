// A plan under change: single options are switched, and time and peak follow at once.
//
// Used by the local searches. Invariant: time() and peak() are those of load_of() for the assignment (the peak over the
// kept rows; 0 without any).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recompute/solver/model.h"

namespace reprise::solver {

/// Bytes per row under additions to ranges, with the greatest of all rows at hand.
class RowTree {
 public:
  explicit RowTree(const std::vector<std::int64_t>& rows);
  void add(std::int32_t first, std::int32_t last, std::int64_t bytes);
  std::int64_t highest() const { return highest_.empty() ? 0 : highest_[1]; }
  /// The first row that has the highest number.
  std::int32_t highest_row() const;

 private:
  std::int32_t size_ = 0, leaves_ = 1;
  std::vector<std::int64_t> highest_, added_;
};

class PlanState {
 public:
  PlanState(const Model& model, Assignment assignment);

  const Model& model() const { return *model_; }
  const Assignment& assignment() const { return assignment_; }
  std::int64_t time() const { return time_; }
  std::int64_t peak() const { return rows_.highest(); }
  std::int32_t peak_row() const { return rows_.highest_row(); }
  bool fits() const { return rows_.highest() <= model_->budget; }
  std::int32_t level(std::size_t object) const { return levels_[object]; }
  std::int64_t work() const { return work_; }

  void set(std::size_t variable, std::uint8_t option);

 private:
  void add_option(std::size_t variable, std::int64_t sign);

  const Model* model_;
  Assignment assignment_;
  std::vector<std::int32_t> levels_;
  std::int64_t time_ = 0, work_ = 0;
  RowTree rows_;
};

}  // namespace reprise::solver
