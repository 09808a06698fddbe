#include "data/folder.h"

#include <algorithm>

#include "core/error.h"

namespace reprise {

namespace fs = std::filesystem;

std::vector<fs::path> paths_in(const fs::path& folder, std::error_code& error, std::size_t most) {
  std::vector<fs::path> paths;
  fs::directory_iterator at(folder, error), end;
  for (; !error && at != end && paths.size() < most; at.increment(error)) paths.push_back(at->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<fs::path> paths_in(const fs::path& folder, std::string_view who) {
  std::error_code error;
  std::vector<fs::path> paths = paths_in(folder, error);
  if (error) fail(ErrorKind::io, "[{}] cannot list {}: {}", who, folder.string(), error.message());
  return paths;
}

}  // namespace reprise
