// The sections of a report. Each reads what it needs from the study and adds to the document; a section without records
// adds nothing. What a reader should know first goes into `findings`, a line each.
// Called by report.cpp.
#pragma once

#include <string>
#include <vector>

#include "tools/report/cohort_data.h"
#include "tools/report/document.h"
#include "tools/report/study_data.h"

namespace reprise::report {

using Findings = std::vector<std::string>;

/// What was run on what, when; counts, failures, budgets.
void add_what_ran(Document& document, const Study& study, Findings& findings);
/// Hashes of all measuring processes.
void add_equal_bytes(Document& document, const Study& study, Findings& findings);
/// Records of kind `process`: ratios and step time against memory, by workload.
void add_workloads(Document& document, const Study& study, Findings& findings);
/// Records of kinds `map` and `map_measured`.
void add_map(Document& document, const Study& study, Findings& findings);
/// Memory over a step by method.
void add_memory(Document& document, const Study& study, Findings& findings);
/// Records of kind `run`: equal bytes, accuracy, memory.
void add_runs(Document& document, const Study& study, Findings& findings);
/// Records of kind `timing`.
void add_timing(Document& document, const Study& study, Findings& findings);
/// A table below these places: measured over predicted step times, the slowest process over the fastest.
void add_steadiness(Document& document, const std::vector<Place>& places);
/// What `reprise bench --record` kept: a table for each line, and ratios to the peer.
void add_benches(Document& document, const std::vector<Json>& records, Findings& findings);
/// Programs by class and mode.
void add_cohort(Document& document, const Cohort& cohort, Findings& findings);

}  // namespace reprise::report
