// Reads a whole file of text: configurations, plans, contracts, states of runs, conformance programs.
//
// Any path may be given by anybody, so nothing about it is believed: a folder, a pipe that nobody writes to, a device
// without an end and a file of any size each give an error, within seconds and without memory beyond the limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace reprise {

/// The bytes of the file, at most `limit`. `who` heads the errors: "[who] cannot open PATH: reason".
/// Errors (user): nothing there, no right to read it, a folder, a pipe without a writer, more than `limit` bytes;
/// (io): the disk failed.
std::string read_text_file(const std::filesystem::path& path, std::string_view who, std::int64_t limit);

/// Calls `line` for each line, without its end; `whole` is false for a last line that lacks its end. Lines are taken
/// one by one, so that a file of any size is read in little memory. Errors as above; a line longer than `limit` is one.
void read_lines(const std::filesystem::path& path, std::string_view who, std::int64_t limit,
                const std::function<void(std::string& line, bool whole)>& line);

}  // namespace reprise
