// Statistics of a study as they stand in its summary.json and in the tables it prints: the same words for every study,
// so that one reader of a summary understands them all. Called by the analyses.
#pragma once

#include <string>

#include "models/run/json_text.h"
#include "tools/study/statistics.h"

namespace reprise::study {

/// [low, high]; null for what is undefined.
Json interval_json(const Interval& interval);
/// n, geometric_mean, bootstrap, log_t and range.
Json ratio_json(const RatioSummary& ratio);
/// "[0.9000, 1.1000]", or "-" for an undefined interval.
std::string bounds_text(const Interval& interval);
/// A number that a record may lack or have as null; 0 there.
double number_or_0(const Json& object, const char* key);
/// Of a list of numbers. Errors (internal): none in it.
double median_of(const Json& list);

}  // namespace reprise::study
