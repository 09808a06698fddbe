// A folder for one test, removed at its end, and files in it.
// Called by tests of files; two of them never meet, nor do two processes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace reprise::testing {

class TempFolder {
 public:
  explicit TempFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "reprise-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::filesystem::path path_;
};

/// A new empty folder of this process, removed when it ends: for fixtures that tests share. `name` is in its path.
inline std::filesystem::path process_folder(const std::string& name) {
  static const TempFolder all;  // another process may run a test of the same name at this very moment
  std::filesystem::path folder = all / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

using FileBytes = std::vector<std::uint8_t>;

inline void write_bytes(const std::filesystem::path& path, const FileBytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}
inline void write_text(const std::filesystem::path& path, const std::string& text) {
  write_bytes(path, FileBytes(text.begin(), text.end()));
}
inline FileBytes file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return FileBytes(std::istreambuf_iterator<char>(file), {});
}
inline std::string file_text(const std::filesystem::path& path) {
  const FileBytes bytes = file_bytes(path);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace reprise::testing
