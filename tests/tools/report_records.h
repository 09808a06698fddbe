// Records as studies leave them, made from rules instead of measurements, for tests of the report.
// The same rules give the same records: what a test expects of a table can be worked out by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "models/run/json_text.h"
#include "tests/support/temp_folder.h"

namespace reprise::testing {

/// What every record has, of status ok.
Json record_of(const std::string& kind, const std::string& id);
/// One measuring process whose timed steps all take `seconds`.
Json process_of(const std::string& workload, const std::string& budget, const std::string& method, std::int64_t block,
                double seconds);
/// The same record of another status.
Json without_result(Json record, const std::string& status, const std::string& error);

/// A study of everything: a start, processes, a map, trainings, timing; with failures and methods without a plan.
std::vector<Json> everything();
/// Two methods in four blocks; in the third the reference failed, and the fourth has the reference alone.
std::vector<Json> small_study();
/// Memory over a step of a method, in the format of extra/.
Json memory_of(const std::string& method);

std::string lines_of(const std::vector<Json>& records);
/// An empty folder of this test.
std::filesystem::path report_folder(const std::string& name);
/// A folder with records.jsonl, study.yaml and extra/.
std::filesystem::path study_of(const std::string& name, const std::vector<Json>& records);
/// A folder as tools/cohort/run leaves it, with plain files: two modes, four programs of two classes. `edit` may change
/// the lines of the second mode before they get their hash.
std::filesystem::path cohort_of(const std::string& name,
                                const std::function<std::string(const std::string&)>& edit = {});

}  // namespace reprise::testing
