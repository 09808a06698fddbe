// What a run came to, as a table for people: the end of `reprise train`, and a column a run in `reprise compare`.
// Reads summary.json as models/train/summary.h writes it; what a run does not have shows as "-".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/run/json_text.h"

namespace reprise {

/// What is said of a run, and the figure: ("peak memory", "96.5 MiB").
std::vector<std::pair<std::string, std::string>> summary_rows(const Json& summary);

/// The rows as a table.
std::string summary_text(const Json& summary);

}  // namespace reprise
