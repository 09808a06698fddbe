// Records of a study: one line of JSON for all that was done (configs/studies/RECORDS.md), appended and synced, read
// back and checked. Called by the runner, the analysis and the report.
//
// A line without an end is one that a killed process did not finish writing: it never was a record. Any other line that
// is not a record of the study is an error (user) with file and line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/run/json_text.h"

namespace reprise::study {

inline constexpr const char* kSchema = "reprise-study/1";

struct Record {
  std::int64_t line = 0;  // in its file, from 1
  std::string id, kind;
  std::string status;  // "ok", "failed", "infeasible"
  Json json;           // all of it
  bool ok() const { return status == "ok"; }
};

/// Reads the records in `text`; `origin` is its name in errors. `study` empty: of any one study, that of the first
/// line. `whole` (may be null) gets the bytes up to the end of the last line that has one. Errors (user): a line that
/// is no record, of another study, of an unknown kind, without a field that its kind has or with one of another type,
/// or with an id that an earlier line has; "FILE:LINE: expected ..., got ...". Times are above 0, bytes and places not
/// below.
std::vector<Record> parse_records(const std::string& text, const std::string& origin, const std::string& study = "",
                                  std::size_t* whole = nullptr);

/// `records` (kind -> status -> how many) and `failed` (ids), as every analysis begins.
Json count_records(const std::vector<Record>& records);

/// records.jsonl, held by one process at a time.
class RecordFile {
 public:
  /// Makes the file where there is none. Cuts off a last line without an end. Errors: io; user when another process
  /// holds it, or as of parse_records().
  RecordFile(const std::filesystem::path& file, const std::string& study);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// What was there and what was appended since.
  const std::vector<Record>& records() const { return records_; }
  /// Writes one line and syncs. Errors: io; internal when the record would not read back.
  void append(Json record);
  /// Why append() would not take it, as parse_records() says; empty where it would.
  std::string refusal(const Json& record) const;
  /// Bytes of an unfinished line that were cut off.
  std::size_t cut_off() const { return cut_off_; }

 private:
  /// As it would be read back from the next line. Errors: as of parse_records().
  Record next_record(const std::string& line) const;

  std::filesystem::path file_;
  std::string study_;
  int descriptor_ = -1;
  std::size_t cut_off_ = 0;
  std::vector<Record> records_;
};

}  // namespace reprise::study
