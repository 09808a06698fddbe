// Memory over one step of each method of a study, for its report: dry steps under the plans that the study stored,
// which take no memory and no time worth measuring. Called by `reprise report --memory`.
#pragma once

#include <filesystem>
#include <vector>

namespace reprise::report {

/// For each of workloads/W.yaml in the folder and each of the seven methods: under plans/W.both.segment.METHOD.json (or
/// plans/W.METHOD.json); without one, retain, whole and region as fixed methods and the others under a plan of least
/// peak, made from plans/W.profile.json. Writes extra/W.METHOD.json where there is none and returns what was written.
/// Errors (user): the folder has no workloads; a plan of another step.
std::vector<std::filesystem::path> trace_memory(const std::filesystem::path& study);

}  // namespace reprise::report
