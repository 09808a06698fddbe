#include "tools/study/record.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "core/error.h"
#include "recompute/json_parse.h"

namespace reprise::study {
namespace {

namespace fs = std::filesystem;

enum class Type : std::uint8_t { text, whole, count, number, time, times, object, hashes, epochs };

struct Field {
  const char* name;
  Type type;
};

/// What every record has.
constexpr Field kCommon[] = {
    {"schema", Type::text},      {"study", Type::text},  {"kind", Type::text},       {"id", Type::text},
    {"status", Type::text},      {"order", Type::count}, {"block", Type::count},     {"started", Type::text},
    {"elapsed_s", Type::number}, {"load", Type::object}, {"versions", Type::object}, {"threads", Type::count},
};

/// What a kind adds, as far as an analysis stands on it.
struct Kind {
  std::vector<Field> place;  // which task it was: every record has these
  std::vector<Field> found;  // a record that is not ok may lack these
};

const std::map<std::string, Kind>& kinds() {
  static const std::vector<Field> process = {{"wall_s", Type::times},
                                             {"cpu_s", Type::times},
                                             {"predicted_s", Type::time},
                                             {"predicted_peak_bytes", Type::count},
                                             {"measured_peak_bytes", Type::count},
                                             {"hash", Type::hashes}};
  static const std::vector<Field> cell = {{"table_ratio", Type::number}, {"written_share", Type::number}};
  static const std::vector<Field> training = {{"layout", Type::text}, {"method", Type::text}, {"seed", Type::whole}};
  auto with = [](std::vector<Field> fields, const std::vector<Field>& more) {
    fields.insert(fields.end(), more.begin(), more.end());
    return fields;
  };
  static const std::map<std::string, Kind> all = {
      {"study", {{}, {{"fingerprint", Type::text}}}},
      {"process",
       {{{"workload", Type::text},
         {"budget", Type::text},
         {"budget_bytes", Type::count},
         {"granularity", Type::text},
         {"method", Type::text}},
        process}},
      {"map",
       {cell,
        {{"budget_bytes", Type::count},
         {"predicted_s", Type::object},
         {"predicted_peak_bytes", Type::object},
         {"smallest_feasible", Type::object}}}},
      {"map_measured", {with(cell, {{"method", Type::text}}), with({{"budget_bytes", Type::count}}, process)}},
      {"run",
       {training,
        {{"epochs", Type::epochs},
         {"plan", Type::object},
         {"measured_peak_bytes", Type::count},
         {"activation_peak_bytes", Type::count}}}},
      {"timing", {training, process}},
  };
  return all;
}

bool are_hashes(const Json& value) {
  return value.is_object() &&
         std::all_of(value.begin(), value.end(), [](const Json& hash) { return hash.is_string(); });
}

bool are_epochs(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& epoch) {
           return epoch.is_object() && epoch.contains("epoch") && epoch["epoch"].is_number_integer() &&
                  epoch.contains("hash") && are_hashes(epoch["hash"]);
         });
}

/// Ratios are taken of times, so that none of them may be 0 or less.
bool is_time(const Json& value) { return value.is_number() && value.get<double>() > 0; }

bool is_of(const Json& value, Type type) {
  switch (type) {
    case Type::text: return value.is_string();
    case Type::whole: return value.is_number_integer();
    case Type::count: return value.is_number_integer() && value.get<std::int64_t>() >= 0;
    case Type::number: return value.is_number();
    case Type::time: return is_time(value);
    case Type::times: return value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_time);
    case Type::object: return value.is_object();
    case Type::hashes: return are_hashes(value);
    case Type::epochs: return are_epochs(value);
  }
  return false;
}

const char* name_of(Type type) {
  switch (type) {
    case Type::text: return "a text";
    case Type::whole: return "a whole number";
    case Type::count: return "a whole number, not below 0";
    case Type::number: return "a number";
    case Type::time: return "a number above 0";
    case Type::times: return "a list of numbers above 0, not empty";
    case Type::object: return "an object";
    case Type::hashes: return "an object of hashes";
    case Type::epochs: return "a list of objects with `epoch` and `hash`";
  }
  return "a value";
}

/// Checks one line against all that a record must be.
class LineReader {
 public:
  LineReader(std::string origin, std::string study) : origin_(std::move(origin)), study_(std::move(study)) {}

  Record read(const std::string& text, std::int64_t line) {
    line_ = line;
    Json json = json_or_discarded(text);
    if (json.is_discarded() || !json.is_object())
      refuse("expected a record, an object of JSON on one line, got {}", shortened(text));
    if (!json.contains("schema") || json["schema"] != kSchema) {
      refuse("expected a record of schema {}, got {}", kSchema,
             shortened(json.contains("schema") ? json["schema"].dump() : text));
    }
    require_fields(json, kCommon);
    Record record{line, json["id"], json["kind"], json["status"], {}};
    if (study_.empty()) study_ = json["study"];
    if (json["study"] != study_)
      refuse("expected a record of the study '{}', got one of '{}'", study_, std::string(json["study"]));
    auto fields = kinds().find(record.kind);
    if (fields == kinds().end()) refuse("expected a record of a known kind, got '{}'", record.kind);
    if (record.status != "ok" && record.status != "failed" && record.status != "infeasible") {
      refuse("expected the status ok, failed or infeasible, got '{}'", record.status);
    }
    require_fields(json, fields->second.place);
    if (record.ok()) require_fields(json, fields->second.found);
    if (!record.ok() && !(json.contains("error") && json["error"].is_string()))
      refuse("expected `error` of a record that is {} to be a text, got none", record.status);
    auto [earlier, fresh] = seen_.emplace(record.id, line);
    if (!fresh) refuse("expected an id of its own, got '{}' again, which line {} has", record.id, earlier->second);
    record.json = std::move(json);
    return record;
  }

 private:
  template <class Fields>
  void require_fields(const Json& json, const Fields& fields) const {
    for (const Field& field : fields) {
      if (!json.contains(field.name)) refuse("expected the field '{}', {}, got none", field.name, name_of(field.type));
      if (!is_of(json[field.name], field.type)) {
        refuse("expected '{}' to be {}, got {}", field.name, name_of(field.type), shortened(json[field.name].dump()));
      }
    }
  }

  static std::string shortened(const std::string& text) {
    constexpr std::size_t kShown = 60;
    std::string shown = text.size() > kShown ? text.substr(0, kShown) + "..." : text;
    for (char& c : shown) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return "'" + shown + "'";
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::user, "[study] {}:{}: {}", origin_, line_, fmt::format(format, std::forward<Args>(args)...));
  }

  std::string origin_, study_;
  std::int64_t line_ = 0;
  std::map<std::string, std::int64_t> seen_;
};

std::string contents_of(int descriptor, const fs::path& file) {
  std::string text;
  char buffer[65536];
  off_t at = 0;
  for (;;) {
    ssize_t got = ::pread(descriptor, buffer, sizeof buffer, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno("study", "read", file.native(), errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    at += got;
  }
}

}  // namespace

std::vector<Record> parse_records(const std::string& text, const std::string& origin, const std::string& study,
                                  std::size_t* whole) {
  LineReader reader(origin, study);
  std::vector<Record> records;
  std::size_t begin = 0;
  for (std::int64_t line = 1;; ++line) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    records.push_back(reader.read(text.substr(begin, end - begin), line));
    begin = end + 1;
  }
  if (whole != nullptr) *whole = begin;
  return records;
}

Json count_records(const std::vector<Record>& records) {
  Json failed = Json::array();
  std::map<std::string, std::map<std::string, std::int64_t>> numbers;
  for (const Record& record : records) {
    ++numbers[record.kind][record.status];
    if (record.status == "failed") failed.push_back(record.id);
  }
  return {{"records", numbers}, {"failed", failed}};
}

RecordFile::RecordFile(const fs::path& file, const std::string& study) : file_(file), study_(study) {
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail_errno("study", "open", file.native(), errno);
  try {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      fail(ErrorKind::user, "[study] expected {} to be free, another process works on this study", file.string());
    }
    std::string text = contents_of(descriptor_, file);
    std::size_t whole = 0;
    records_ = parse_records(text, file.string(), study, &whole);
    cut_off_ = text.size() - whole;
    if (cut_off_ > 0 && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
      fail_errno("study", "cut", file.native(), errno);
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RecordFile::~RecordFile() { ::close(descriptor_); }

Record RecordFile::next_record(const std::string& line) const {
  return LineReader(file_.string(), study_).read(line, static_cast<std::int64_t>(records_.size()) + 1);
}

std::string RecordFile::refusal(const Json& record) const {
  try {
    next_record(json_line(record));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void RecordFile::append(Json record) {
  std::string line = json_line(record);
  Record read = next_record(line);
  for (const Record& other : records_) {
    if (other.id == read.id) fail(ErrorKind::internal, "[study] expected one record of '{}', got a second", read.id);
  }
  line += '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    ssize_t written = ::write(descriptor_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_errno("study", "write", file_.native(), errno);
    done += static_cast<std::size_t>(written);
  }
  if (::fsync(descriptor_) != 0) fail_errno("study", "sync", file_.native(), errno);
  records_.push_back(std::move(read));
}

}  // namespace reprise::study
