// The runner of studies: makes the folder or goes on with it, plans once, does every task that has no record in a
// process of its own, one record each, and analyses the records. Called by `reprise study`.
//
// At any moment the study may be killed: what has a record is done, all else is done by the next call.
#pragma once

#include <filesystem>
#include <string>

#include "tools/study/study_type.h"

namespace reprise::study {

struct RunnerOptions {
  std::filesystem::path folder;
  bool retry_failed = false;  // tasks whose last record says failed are done again; the old record stays
  bool plan_only = false;     // stop before the first task
  std::string kind = {};      // do tasks of this kind only; empty: all
};

/// Returns an exit code: 0; 1 where a task failed or the analysis found what must not be; 130 where somebody asked to
/// stop. Errors: config and user (a folder of another study, a record that is none, workloads that differ), io.
int run_study(const Config& study, const RunnerOptions& options);

/// Prints the tasks of a study without doing or measuring anything. Returns an exit code. Errors: config; user where
/// the tasks of this type of study only follow from planning.
int list_tasks(const Config& study);

/// In a fresh process: does the job that FreshProcess handed over and prints the answer. Returns an exit code.
int run_job();

/// Where a study leaves its files without -o: runs/study-NAME.
std::filesystem::path default_folder(const Config& study);

}  // namespace reprise::study
