// EventFile: the scalars and hyper-parameters of a run as TensorBoard reads them, in events.out.tfevents.* of the run
// folder. Fed by the trainer with what goes to metrics.jsonl.
//
// A file is only added to. A run that is resumed begins another file, which says from which step on the earlier ones no
// longer hold. Nothing is made before the first scalar, so a run that ends before it leaves no file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "models/run/json_text.h"

namespace reprise {

class EventFile {
 public:
  /// `step`: steps that the run has already done; what earlier files say about later ones is void. `settings` become
  /// the hyper-parameters: an object of numbers, truth values and texts.
  EventFile(std::filesystem::path folder, std::int64_t step, Json settings);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Every number in `figures` as a scalar of `step`, named by `group` and its keys: "train/loss", "eval/probe/top1".
  /// Errors (io): the disk is full, read-only or failed.
  void scalars(std::int64_t step, const std::string& group, const Json& figures);
  /// Says that the run is done. Errors (io).
  void finish();

  /// Empty before the first scalar.
  const std::filesystem::path& path() const { return path_; }

 private:
  void open();
  void append(const std::string& records);

  std::filesystem::path folder_, path_;
  std::int64_t step_;
  Json settings_;
  int descriptor_ = -1;
};

}  // namespace reprise
