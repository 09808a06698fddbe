// What the measurements must show, as frozen before they were made: from the study's settings, else those of the study
// of sparse writes. Used by the sections that compare methods.
#pragma once

#include <string>
#include <vector>

namespace reprise::report {

struct Target {
  std::string workload, budget, granularity, method, reference;
  double at_most = 0;  // of the geometric mean of the paired ratios
  std::string paper;   // what the paper measured there, on an H100
};

/// `settings`: study.yaml as it was resolved, or empty.
std::vector<Target> targets_of(const std::string& settings);

}  // namespace reprise::report
