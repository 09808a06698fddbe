// Plan: one choice for each segment and each class of reads of a step, with the peak and the time it promises and the
// bound that certifies it. Made by Planner::plan() (planner.h), stored as JSON, turned into a tape's assignment.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "recompute/planning/assignment.h"

namespace reprise {

/// What a plan was made for: it is refused where any of these differs.
struct PlanPrint {
  std::string trace;      // of a micro-batch: nodes, kernels, shapes
  std::string contracts;  // of a micro-batch: what replays need
  std::string build;      // version and contracts of all ops
  int threads = 0;
  // Of the whole step, whose peak is what a plan promises.
  std::string held{};  // bytes live before the step, by category: "parameters 640, data 128"
  std::int64_t micro_batches = 1;
  std::string optimiser{};  // its name
  friend bool operator==(const PlanPrint&, const PlanPrint&) = default;
};

/// The id of a segment that has recorded no node; it is retained under every method.
inline constexpr const char* kNoNodes = "(no nodes)";

struct PlannedSegment {
  std::string id;      // "layer1.0"
  std::string option;  // "retain", "replay", "replay, 2 kept"
  bool replay = false;
  std::uint32_t run = 0;  // number of its two-level run; 0: none
  bool run_ends = false;
  std::vector<std::pair<std::uint32_t, int>> kept;  // (node of the step, result)
  std::int64_t bytes_kept = 0, bytes_preserved = 0;
  std::int64_t replay_ns = 0, move_ns = 0;
  std::string why;  // in a few words
  friend bool operator==(const PlannedSegment&, const PlannedSegment&) = default;
};

struct PlannedClass {
  std::string storage;     // its name
  std::uint32_t node = 0;  // the killing write: node of the step, and which of its updates
  int update = 0;
  StateOption state = StateOption::whole;
  std::int64_t bytes = 0;            // preserved for it
  std::vector<std::string> readers;  // ids of the segments that owe it
  friend bool operator==(const PlannedClass&, const PlannedClass&) = default;
};

struct Plan {
  std::string method, granularity;
  PlanPrint made_for;
  std::int64_t budget = 0;          // bytes; 0: none
  std::int64_t predicted_peak = 0;  // bytes, of a whole step
  std::string binding_row;          // where the peak is: "backward of layer1.0"
  std::int64_t predicted_ns = 0;    // of a step
  std::int64_t lower_bound_ns = 0;  // no plan of this method within the budget is faster than this, by the profile
  bool proven = false;              // the plan is optimal
  std::int64_t work = 0;            // units spent on solving
  StateOption fallback = StateOption::whole;  // of classes that the plan does not name
  std::uint32_t nodes = 0;                    // of the step
  std::vector<PlannedSegment> segments;       // explicit instances in forward order
  std::vector<PlannedClass> classes;          // by node and update

  /// (predicted - bound) / predicted.
  double gap() const;
  Assignment assignment() const;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Less time, then less memory, then fewer replays, then earlier segments retained. Both are plans of one step.
bool is_better(const Plan& a, const Plan& b);

/// The same bytes for the same plan. Ends in a line end.
std::string to_json(const Plan& plan);
/// Errors (user): no plan, or one that no planner makes, such as a run of one segment or a retained segment under a
/// method that replays all; names `origin`, the place, what was expected and found.
Plan plan_from_json(const std::string& text, const std::string& origin);

/// Errors (user): the plan was made for another step; says what differs.
void require_made_for(const Plan& plan, const PlanPrint& here, const std::string& origin);

/// Errors (user): nodes, segments, runs, kept results or classes are not those of the step that was recorded as `step`.
void require_fits(const Plan& plan, const TapeData& step, const std::string& origin);

}  // namespace reprise
