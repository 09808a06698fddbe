// metrics.jsonl: one JSON object a line, appended as training goes and cut back when a run is resumed.
//
// Every line holds "step" (optimiser steps done). A line is written by one system call, so that a killed process leaves
// at most one torn line, at the end; truncate_after() takes it away.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/run/json_text.h"

namespace reprise {

class MetricsLog {
 public:
  static constexpr std::int64_t kAllLines = std::int64_t{1} << 60;

  /// Opens or makes the file. Errors (io) name path and reason.
  explicit MetricsLog(std::filesystem::path path);
  ~MetricsLog();
  MetricsLog(MetricsLog&& other) noexcept;
  MetricsLog& operator=(MetricsLog&&) = delete;

  /// Adds one line. A failure (io) leaves the file as it was.
  void append(const Json& line);
  /// From now on each line that was added is also given to `reader`.
  void set_reader(std::function<void(const Json& line)> reader) { reader_ = std::move(reader); }
  /// Cuts the file behind the last line whose step is at most `step`, and behind its first `most` lines; a torn line at
  /// the end goes too. Errors (io) when there is a line in the middle that is no JSON object.
  void truncate_after(std::int64_t step, std::int64_t most = kAllLines);
  /// Waits until the lines are on the disk; called before a checkpoint is renamed into place.
  void sync();

  const std::filesystem::path& path() const { return path_; }
  /// How many lines stand since truncate_after(): those that it left and those added. Without it: those added.
  std::int64_t lines() const { return lines_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t lines_ = 0;
  std::function<void(const Json&)> reader_;
};

/// The lines of a metrics.jsonl, in their order; `who` heads the errors. A last line that is not whole is left out if
/// it cannot be read: a run may be writing it, or was killed in it. Errors (io), with file and line: another line that
/// is no object with a whole number as "step"; and those of read_lines().
std::vector<Json> read_metrics(const std::filesystem::path& path, std::string_view who);

}  // namespace reprise
