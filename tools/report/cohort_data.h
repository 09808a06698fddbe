// How many programs of each class got which verdict in each mode of a cohort (tools/cohort_view reads and checks the
// records). Used by the report.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/run/json_text.h"

namespace reprise::report {

struct CohortMode {
  std::string name, framework, about;
  std::map<std::string, std::map<std::string, std::int64_t>> verdicts;  // class -> verdict -> programs
  std::int64_t records = 0;
  std::int64_t of(const std::string& verdict) const;                            // over all classes
  std::int64_t of(const std::string& group, const std::string& verdict) const;  // of one class
  std::int64_t in(const std::string& group) const;                              // records of a class
};

struct Cohort {
  std::string source;
  Json manifest;
  std::vector<CohortMode> modes;  // in the order of the manifest
};

/// Errors (user): as cohort::read_cohort.
Cohort read_cohort(const std::filesystem::path& folder);
bool is_cohort(const std::filesystem::path& path);

}  // namespace reprise::report
