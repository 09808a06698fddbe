// The folder a run leaves behind: config.yaml, metrics.jsonl, summary.json, and what the trainer adds (checkpoints).
//
// Made by the trainer through create() or resume(); one process holds a folder at a time, by a lock on its file
// ".lock". Errors: user when the folder is another run's, is held by another process or is missing; io when the disk
// refuses.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/config.h"
#include "models/run/json_text.h"
#include "models/run/metrics_log.h"

namespace reprise {

inline constexpr const char* kPlanFile = "plan.json";
inline constexpr const char* kProfileFile = "profile.json";

class RunFolder {
 public:
  /// Makes the folder `run.dir` names and writes config.yaml. Where `run.dir` is empty: runs/NAME below the working
  /// folder, or runs/NAME-2, -3 and so on when that is taken; `config` then holds the name chosen. A folder that has
  /// anything in it is refused, but for that of a run that ended before its first checkpoint and its first line of
  /// metrics: this run takes its place.
  static RunFolder create(Config& config);

  /// Opens the folder of an earlier run, without the half-written files of a killed one. `lock_wait` in seconds. It and
  /// create() throw Interrupted (core/interrupt.h) when somebody asks to stop while they wait for another process.
  static RunFolder resume(const std::filesystem::path& path, double lock_wait = 0);

  /// The configuration that an earlier run wrote, with overrides on top.
  static Config read_config(const std::filesystem::path& path, const std::vector<OverrideText>& overrides = {});

  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }
  MetricsLog& metrics() { return metrics_; }
  /// Whether create() took the place of a run that had left nothing.
  bool began_before() const { return began_before_; }

  /// Replaces the file config.yaml; `run.dir` in it is this folder.
  void write_config(Config& config);
  /// Replaces summary.json in one step: readers see the old or the new one.
  void write_summary(const Json& summary);
  /// Replaces any other small text file the same way.
  void write_text(const std::string& name, std::string_view text);

 private:
  RunFolder(std::filesystem::path path, int lock);

  std::filesystem::path path_;
  int lock_ = -1;
  MetricsLog metrics_;
  bool began_before_ = false;
};

/// Names for people in which the folders of runs differ: the last part of each, or all of it where two share that.
std::vector<std::string> names_of_runs(const std::vector<std::string>& folders);

}  // namespace reprise
