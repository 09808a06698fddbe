// The tasks of a study as a file, written once when the study is planned and read by every later call; and the seeded
// orders in which tasks stand. Called by the runner and by types of studies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/study/study_type.h"

namespace reprise::study {

std::string tasks_to_json(const std::vector<Task>& tasks);
/// Errors (user): not written by tasks_to_json; names `origin`.
std::vector<Task> tasks_from_json(const std::string& text, const std::string& origin);

/// How a record says otherwise than the task of its id, after "expected "; empty where it does not.
std::string differing_field(const Json& record, const Task& task);

/// A seeded random order of 0 .. count-1, from the Philox stream (seed, id).
std::vector<std::size_t> random_order(std::size_t count, std::uint64_t seed, std::uint64_t id);

/// Cells that are measured in blocks, mixed: block i of n of a cell stands at a random place of the i-th n-th part of
/// the whole time, so that every cell is measured from beginning to end. Returns (cell, block) in order.
std::vector<std::pair<std::size_t, std::int64_t>> interleaved_blocks(const std::vector<std::int64_t>& blocks_of_cells,
                                                                     std::uint64_t seed);

}  // namespace reprise::study
