// How numbers and names read in tables and sentences of a report. Used by its sections.
// One home, so that a ratio or a time reads the same wherever it stands.
#pragma once

#include <cstdint>
#include <string>

#include "tools/report/study_data.h"

namespace reprise::report {

/// "0.7953"; "none" for what is undefined.
std::string ratio_text(double value);
/// "[0.7902, 0.8011]"; "" where undefined.
std::string interval_text(const study::Interval& interval);
/// "0.7953 [0.7902, 0.8011]".
std::string ratio_text(const study::RatioSummary& summary);
/// "20.47 % less", "1.32 % more", "equal".
std::string more_or_less(double ratio);
/// Three digits with their unit; "none" for what is undefined.
std::string seconds_text(double value);
std::string bytes_text(double value);
/// "1,234".
std::string count_text(std::int64_t count);
/// "1 process", "2 processes".
std::string counted(std::int64_t count, const std::string& one, const std::string& several);
/// Lower case, digits and "-" only, for names of files.
std::string file_name(const std::string& text);
/// "both", or "both (1.02 GiB)" where the bytes are known.
std::string budget_text(const Place& place);

}  // namespace reprise::report
