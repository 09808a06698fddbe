// An instance of the planning problem, as plain numbers: what each choice costs in time, and which bytes are alive in
// which row of the step. Made by the problem builder from dry traces and a profile, and by synthetic families and
// public traces; solved by solve.h; judged by evaluate.h. Knows nothing of tapes.
//
// Invariant: rows are positions in the step, in time order; an object's bytes count in every row from its birth to the
// row of its last selected use, both included, and in no row if no use is selected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::solver {

/// How the overwritten bytes of one class of reads are preserved.
enum class StateChoice : std::uint8_t { whole, region };

/// Bytes in one row that come with an option: workspace, cotangents, the live set of a replay.
struct RowBytes {
  std::int32_t row = 0;
  std::int64_t bytes = 0;
};

/// One way to treat a segment: keep its values, or replay it (perhaps with some node outputs kept).
struct Option {
  std::string name;
  bool retain = false;
  std::int64_t time_ns = 0;  // above what every option costs
  std::vector<RowBytes> own;
};

struct Segment {
  std::string name;
  std::vector<Option> options;  // at most 64; the order breaks ties
};

/// Why an object is alive: segment `segment` has one of the options in `options` and, where `read_class` is not
/// negative, that class of reads is served by `state`.
struct Use {
  std::int32_t segment = 0;
  std::uint64_t options = 0;  // bit o: option o uses the object
  std::int32_t row = 0;       // the last row in which this use needs it
  std::int32_t read_class = -1;
  StateChoice state = StateChoice::whole;
};

/// A boundary value, a kept value, a record or a snapshot.
struct Object {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t time_ns = 0;  // charged once if any use is selected: copying or gathering it
  std::int32_t birth = 0;
  std::vector<Use> uses;
};

/// Time charged when segment and class choices meet: opening and closing the blocks of a read.
struct JointTime {
  std::int32_t segment = 0;
  std::uint64_t options = 0;
  std::int32_t read_class = 0;
  StateChoice state = StateChoice::region;
  std::int64_t time_ns = 0;
};

struct ReadClass {
  std::string name;
};

struct Instance {
  std::string name;
  std::vector<std::string> row_names;  // one per row, for messages; may be empty
  std::vector<std::int64_t> base;      // bytes of each row whatever is chosen; its size is the number of rows
  std::int64_t base_time_ns = 0;       // of the step under the cheapest choice of everything
  std::vector<Segment> segments;
  std::vector<ReadClass> classes;
  std::vector<Object> objects;
  std::vector<JointTime> joint_times;
};

/// What a plan may use: the seven methods are the seven non-empty subsets.
struct Allowed {
  bool retain = true, whole = true, region = true;
};

/// One choice for each segment and each class.
struct Choice {
  std::vector<std::uint8_t> options;  // per segment
  std::vector<StateChoice> states;    // per class
  friend bool operator==(const Choice&, const Choice&) = default;
};

}  // namespace reprise::solver
