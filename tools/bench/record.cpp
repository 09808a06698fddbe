#include "tools/bench/record.h"

#include <fmt/format.h>

#include "core/error.h"
#include "data/atomic_file.h"
#include "data/text_file.h"
#include "recompute/json_parse.h"

namespace reprise::bench {
namespace {

constexpr std::int64_t kMostRecordBytes = std::int64_t{64} << 20;

/// What is wrong with a record; empty: nothing. Everything that a report reads without asking is looked at.
std::string fault_of(const Json& record) {
  if (!record.is_object()) return "expected a JSON object";
  if (record.value("schema", Json()) != kRecordSchema)
    return fmt::format("expected the schema \"{}\", got {}", kRecordSchema, record.value("schema", Json()).dump());
  for (const char* key : {"bench", "command", "started", "title"}) {
    if (!record.value(key, Json()).is_string()) return fmt::format("expected a text `{}`", key);
  }
  for (const char* key : {"versions", "load"}) {
    if (!record.value(key, Json()).is_object()) return fmt::format("expected an object `{}`", key);
  }
  for (const char* key : {"header", "rows", "remarks"}) {
    if (!record.value(key, Json()).is_array()) return fmt::format("expected a list `{}`", key);
  }
  for (const Json& row : record["rows"]) {
    if (!row.is_object() || !row.value("what", Json()).is_string() || !row.value("unit", Json()).is_string())
      return "expected `what` and `unit` in each row";
    for (const char* side : {"ours", "peer"}) {
      if (!row.contains(side) && side[0] == 'p') continue;
      Json samples = row.value(side, Json::object()).value("samples", Json());
      if (!samples.is_array()) return fmt::format("expected a list `{}.samples` in each row", side);
      for (const Json& sample : samples) {
        if (!sample.is_number()) return fmt::format("expected numbers in `{}.samples`, got {}", side, sample.dump());
      }
    }
  }
  return "";
}

}  // namespace

void append_record(const std::filesystem::path& file, const Json& record) {
  std::string line = json_line(record), fault = fault_of(json_or_discarded(line));
  if (!fault.empty())  // else no record could be added to the file any more
    fail(ErrorKind::internal, "[bench] expected a record that can be read again for {}: {}", file.string(), fault);
  std::error_code error;
  std::string text;
  if (std::filesystem::exists(file, error)) {
    text = read_text_file(file, "bench", kMostRecordBytes);
    parse_records(text, file.string());
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  write_file_atomically(file, text + line + "\n");
}

bool are_records(const std::string& text) {
  std::string first = text.substr(0, text.find('\n'));
  return first.find(fmt::format("\"{}\"", kRecordSchema)) != std::string::npos;
}

std::vector<Json> parse_records(const std::string& text, const std::string& origin) {
  std::vector<Json> records;
  std::int64_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    ++line;
    Json record = json_or_discarded(std::string_view(text).substr(at, end - at));
    std::string fault = record.is_discarded() ? "expected a line of JSON, got something else" : fault_of(record);
    if (!fault.empty()) fail(ErrorKind::user, "[bench] {}:{}: {}", origin, line, fault);
    records.push_back(std::move(record));
    at = end + 1;
  }
  return records;
}

}  // namespace reprise::bench
