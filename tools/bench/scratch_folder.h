// A folder for what a bench writes and nobody keeps: of a name that no other process has, removed with all in it when
// the bench ends, by an error too. Called by benches of planner, loader and start-up.
#pragma once

#include <filesystem>
#include <string>

namespace reprise::bench {

class ScratchFolder {
 public:
  /// Errors (io): none can be made.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace reprise::bench
