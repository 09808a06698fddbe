// The study `sparse_write`: training steps that write a little of a large state, under every method, in fresh processes
// at budgets that follow a rule; and the map of where preserving by region pays off.
//
//   both    the smallest budget at which retain+whole has a plan, plus 2 %
//   tight   the midpoint between the smallest feasible budgets of region and of retain+whole
//   ladderN evenly spaced from the smallest feasible budget of all methods to the peak of retain
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "tools/study/study_type.h"

namespace reprise::study {

RegisteredType sparse_write_type();

/// Planning: budgets, plans, tasks of all cells; stores plans and profiles (sparse_write_plan.cpp).
Planned plan_sparse_write(const Workshop& workshop);

/// The map (sparse_write_map.cpp): tasks of kind `map` and `map_measured`, numbered on from `order`; and doing one of
/// either.
std::vector<Task> map_tasks(const Workshop& workshop, std::int64_t order);
Json run_map_cell(const Json& work, const std::filesystem::path& folder);
Json run_map_process(const Json& work, const std::filesystem::path& folder);
/// Errors (config): a measured cell that is no cell, a workload that is none.
void check_map(const Config& study);

/// From the records alone (sparse_write_analysis.cpp).
Analysis analyse_sparse_write(const Config& study, const std::vector<Record>& records);

/// One measuring process under the plan that `work` names.
Json run_process(const Json& work, const std::filesystem::path& folder);

/// The seven methods, or those of the key `methods`.
const Words& methods_of(const Config& study);

}  // namespace reprise::study
