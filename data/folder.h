// What is in a folder, by name. The one place that walks folders: the standard library's iterators throw its own errors
// as they go on, whatever they were given at the start, and those say neither who asked nor what it was for.
// Callers: run folders and checkpoints, readers of data sets, reports and benches.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

namespace reprise {

/// The paths of what is in `folder`, sorted, at most the first `most` that were found. `error` says why some may be
/// missing; empty where all are there.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder, std::error_code& error,
                                            std::size_t most = std::numeric_limits<std::size_t>::max());
/// The same of a folder that has to be read whole. Errors (io): it cannot be; headed by `who`.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder, std::string_view who);

}  // namespace reprise
