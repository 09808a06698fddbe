// The records of a study, sorted for the sections of a report: who measured what where, paired by block, and what could
// not be used. Nothing is left out without a count: a record that is not ok, that has no partner, or that repeats
// another is listed in `problems` or counted in the tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/run/json_text.h"
#include "tools/study/record.h"
#include "tools/study/statistics.h"

namespace reprise::report {

/// Memory over one step of one method (configs/studies/RECORDS.md).
struct StepMemory {
  std::string workload, method;
  double budget = 0;                                                    // bytes; 0: none
  std::vector<std::pair<std::string, std::vector<double>>> categories;  // bytes at each moment, all of one length
};

struct Study {
  std::string name, source;      // source: the file as it was given
  std::string settings;          // study.yaml; empty where there is none
  std::uint64_t resampling = 1;  // seed of all bootstraps: that of the study
  std::vector<study::Record> records;
  std::map<std::string, std::int64_t> tasks;  // planned, by kind; empty: not known
  std::vector<StepMemory> memory;
};

/// `path`: the folder of a study, or a file of records, plain or compressed.
/// Errors (user): no records there; a bad record, with FILE:LINE; a bad file in extra/.
Study read_study(const std::filesystem::path& path);
/// The text of a file of records, plain or compressed. Errors (user): it cannot be read.
std::string record_text(const std::filesystem::path& file);
/// Whether there is something that read_study reads.
bool is_study(const std::filesystem::path& path);

/// The measuring processes of one method in one place.
struct Measured {
  std::map<std::int64_t, double> wall, cpu;  // block -> seconds a step: the median of the timed steps of its process
  std::int64_t processes = 0, failed = 0, infeasible = 0;
  double predicted_s = kNone, lower_bound_s = kNone, predicted_peak = kNone;
  double measured_peak = kNone, rss_peak = kNone;  // the highest of all processes
  std::set<std::string> plans;                     // fingerprints of what their plans choose
  bool at_smallest = false;                        // it has no plan at the budget of the others
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
};

/// What measuring processes have in common: a workload at a budget, a cell of a map, a seed of an application.
struct Place {
  std::string workload, budget, granularity, layout;
  double budget_bytes = 0, table_ratio = 0, written_share = 0;
  std::int64_t seed = 0;
  std::uint64_t resampling = 1;
  std::map<std::string, Measured> methods;
};

/// Of records of `kind`, in the order in which places first appear.
std::vector<Place> places_of(const Study& study, const std::string& kind);

/// Time of a method over that of another, in the blocks that have both.
struct Ratio {
  study::RatioSummary wall, cpu;
  std::vector<double> ratios;  // of wall, by block
  double predicted = Measured::kNone;
  std::int64_t unpaired = 0;  // blocks that only one of both has
  bool same_plan = false;     // both chose the same, so that nothing but chance is between them
};
Ratio ratio_of(const Place& place, const std::string& method, const std::string& reference);

/// The known methods in the order of the plan language, then others.
std::vector<std::string> in_order(std::vector<std::string> methods);
std::vector<std::string> methods_of(const std::vector<Place>& places);
/// Colour and shape, the same in all pictures.
int slot_of(const std::string& method);

/// What the study's first record says of itself; null where there is none.
const Json& start_of(const Study& study);
/// The smallest budget at which the method has a plan, in bytes; undefined where the study does not say.
double smallest_feasible(const Study& study, const std::string& workload, const std::string& granularity,
                         const std::string& method);

/// The number under `key`; Measured::kNone where a record lacks it or has null.
double number_in(const Json& json, const char* key);

}  // namespace reprise::report
