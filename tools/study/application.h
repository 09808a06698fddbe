// The study `cifar100_dense_queue`: a whole training under every method from the same seeds, with hashes after each
// epoch; and step times of the same steps in processes of their own, one at a time.
//
// Methods that plan run at the budget of the predicted peak of `whole`; one that has no plan there runs at its smallest
// feasible budget and its records say so. Plans are made once for each workload (a layout of the queue), from one
// profile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/study/study_type.h"

namespace reprise::study {

RegisteredType cifar100_dense_queue_type();

/// The tasks without what planning adds: budgets, plans, expected times (application_plan.cpp).
std::vector<Task> outline_application(const Config& study);
/// Makes the plans of all workloads and completes the tasks; stores configurations, plans, profiles and, with
/// data.path, the images that are read.
Planned plan_application(const Workshop& workshop);
/// In a fresh process: profile and plans of one workload.
Json plan_methods(const Json& work, const std::filesystem::path& folder);

/// In a fresh process: one training, from its last checkpoint where one was begun (application_run.cpp).
Json run_training(const Json& work, const std::filesystem::path& folder);
/// `epochs` of a record from the lines of a run's metrics.jsonl: the losses and hashes of each epoch.
Json epochs_of(const std::filesystem::path& metrics);

/// From the records alone (application_analysis.cpp).
Analysis analyse_application(const Config& study, const std::vector<Record>& records);

/// The seeds of one workload. Errors (config): none, or no numbers.
std::vector<std::int64_t> seeds_of(const Config& study, const std::string& workload);

}  // namespace reprise::study
