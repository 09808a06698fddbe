// Figures that are kept: one line of JSON for each call of `reprise bench --record FILE`, with the circumstances it was
// measured in (configs/studies/RECORDS.md). Written by the verb, read by `reprise report`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/run/json_text.h"

namespace reprise::bench {

inline constexpr const char* kRecordSchema = "reprise-bench/1";

/// Appends a line; what the file held stays, and a process killed meanwhile leaves the old file. One writer at a time.
/// Errors (user): the file holds other lines; (io) it cannot be written.
void append_record(const std::filesystem::path& file, const Json& record);

/// Whether the text begins as records of benches do.
bool are_records(const std::string& text);
/// Errors (user): a line that is no such record, "FILE:LINE: expected ..., got ..."; `origin` is FILE.
std::vector<Json> parse_records(const std::string& text, const std::string& origin);

}  // namespace reprise::bench
