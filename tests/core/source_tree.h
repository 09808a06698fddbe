// The project's own sources as lists of lines, for the tests that hold the house rules (include order, sizes).
//
// Used by include_order_test.cpp and sizes_test.cpp. Paths are relative to the root of the repository, sorted.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace reprise::source_tree {

struct SourceFile {
  std::string path;  // "core/shape.h"
  std::string room;  // "core"
  std::vector<std::string> lines;
};

inline const std::vector<std::string>& rooms() {
  static const std::vector<std::string> kRooms = {"core",      "memory", "autograd", "ops",
                                                  "recompute", "data",   "models",   "tools"};
  return kRooms;
}

inline SourceFile load(const std::filesystem::path& root, const std::filesystem::path& file) {
  SourceFile source;
  source.path = std::filesystem::relative(file, root).generic_string();
  source.room = source.path.substr(0, source.path.find('/'));
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) source.lines.push_back(line);
  return source;
}

/// Every C++ and CUDA file below the named top-level directories.
inline std::vector<SourceFile> sources(const std::vector<std::string>& directories) {
  static const std::set<std::string> kExtensions = {".h", ".cpp", ".cu", ".cuh"};
  const std::filesystem::path root = REPRISE_SOURCE_DIR;
  std::vector<std::filesystem::path> files;
  for (const std::string& directory : directories) {
    if (!std::filesystem::is_directory(root / directory)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / directory)) {
      if (entry.is_regular_file() && kExtensions.contains(entry.path().extension().string())) files.push_back(entry);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<SourceFile> result;
  for (const auto& file : files) result.push_back(load(root, file));
  return result;
}

/// The rooms' files and those of the tests.
inline std::vector<SourceFile> all_files() {
  std::vector<std::string> directories = rooms();
  directories.push_back("tests");
  return sources(directories);
}

}  // namespace reprise::source_tree
