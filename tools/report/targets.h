// What the measurements must show, as frozen before they were made: from the study's settings, else those of the study
// of sparse writes; and what came of each. Used by the sections that compare methods.
#pragma once

#include <string>
#include <vector>

#include "tools/report/study_data.h"

namespace reprise::report {

struct Target {
  std::string workload, budget, granularity, method, reference;
  double at_most = 0;  // of the geometric mean of the paired ratios
  std::string paper;   // what the paper measured there, on an H100
};

/// `settings`: study.yaml as it was resolved, or empty.
std::vector<Target> targets_of(const std::string& settings);
bool is_at(const Target& target, const Place& place);

/// A line for each target that was measured: met, or missed by how much, and what was planned; of one that was missed
/// also why, as far as plans, smallest budgets and memory over a step tell; of all, the ratio at other granularities.
std::vector<std::string> target_findings(const Study& study, const std::vector<Place>& places,
                                         const std::vector<Target>& targets);

}  // namespace reprise::report
