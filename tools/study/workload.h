// Workloads of a study: configuration files named in the study file, with overrides, frozen by two fingerprints.
// Called by types of studies when they check and plan.
#pragma once

#include <string>
#include <vector>

#include "models/config/config.h"
#include "models/run/json_text.h"

namespace reprise::study {

/// Keys that a study file with workloads has: workloads, overrides, fingerprints.config, fingerprints.trace.
std::vector<Key> workload_keys();

/// The names, in the order of the file. Errors (config): none is given.
Words workload_names(const Config& study);

/// The configuration of one workload as the study runs it: its file, its overrides, the study's threads, no budget and
/// no stored plan. Errors (config): as reading it; with the place in the study file.
Config workload_config(const Config& study, const std::string& name, const std::vector<std::string>& more = {});

struct WorkloadPrint {
  std::string config;  // of the keys that shape a step, but for those of recomputation
  std::string trace;   // of the nodes of a step
};
WorkloadPrint print_of_workload(const Config& workload);

/// The same where whole trainings are compared: `config` is also of what decides how a training goes on and is
/// evaluated.
WorkloadPrint print_of_training(const Config& workload);

/// Errors (config): the study file has no fingerprints of the workload, or others; says which.
void require_frozen(const Config& study, const std::string& name, const WorkloadPrint& found);

/// The same for all workloads; gives `fingerprints` of the study's first record: workload -> config, trace.
Json require_all_frozen(const Config& study, WorkloadPrint (*print)(const Config&) = print_of_workload);

/// The section to put into the study file, of the prints that `print` makes.
std::string fingerprint_section(const Config& study, WorkloadPrint (*print)(const Config&) = print_of_workload);

/// "a=1 b=[2,3]" cut at blanks that stand outside quotes, lists and maps.
std::vector<std::string> split_overrides(const std::string& text);

/// The value of one entry of a map key; `otherwise` where there is none.
std::string entry_or(const Config& study, const std::string& key, const std::string& entry,
                     const std::string& otherwise = "");

}  // namespace reprise::study
