// Figures and tables as text for people. Used by every room above that prints; files for machines have exact numbers.
//
// A text made here depends on its arguments alone, so that two runs that found the same print the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// "1023 B", "96.5 MiB": one digit behind the point, in the unit that leaves a number from 1 to 1024; TiB at most.
std::string short_bytes(std::int64_t bytes);

/// "1 node", "3 nodes": `what` with an s where there is not exactly one.
std::string counted(std::int64_t count, const char* what);

/// The first bytes of `text`, 60 at most: as much of it as an error shows where anybody may have written it.
std::string_view shown_part(std::string_view text);

/// Lines of cells in columns as wide as their longest cell, two blanks between them and none at the end of a line.
/// `right` says which columns stand to the right; those beyond it stand to the left. Rows may be of different lengths.
std::string format_table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right = {});

}  // namespace reprise
