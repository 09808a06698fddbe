#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/error.h"
#include "data/archive.h"
#include "data/text_file.h"
#include "recompute/json_parse.h"
#include "tools/cohort_view/cohort.h"
#include "tools/cohort_view/sha256.h"

namespace reprise::cohort {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "reprise-cohort/1";
constexpr std::int64_t kManifestLimit = 1 << 24;
constexpr std::int64_t kFileLimit = std::int64_t{1} << 30;  // of one file, compressed or not
constexpr const char* kValues[] = {"grads", "buffers", "streams", "cells"};

template <class... Args>
[[noreturn]] void refuse(const fs::path& file, std::int64_t line, fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorKind::user, "[cohort] {}:{}: {}", file.string(), line, fmt::format(format, std::forward<Args>(args)...));
}

struct Lines {
  fs::path file;
  std::vector<std::string> lines;
};

/// The lines of the file that an entry of the manifest names, after its hash has been compared.
Lines read_listed(const fs::path& folder, const Json& entry) {
  fs::path manifest = folder / "manifest.json";
  std::string name = text_in(entry, "file"), wanted = text_in(entry, "sha256");
  if (name.empty() || name.find('/') != std::string::npos || wanted.size() != 64)
    refuse(manifest, 1, "expected an entry with `file` and `sha256`, got {}", entry.dump());
  Lines read{folder / name, {}};
  std::string packed = read_text_file(read.file, "cohort", kFileLimit);
  std::string got = sha256({reinterpret_cast<const std::uint8_t*>(packed.data()), packed.size()});
  if (got != wanted) {
    fail(ErrorKind::user, "[cohort] {}: expected the file whose sha256 is {}, as the manifest says, got {}",
         read.file.string(), wanted, got);
  }
  std::vector<std::uint8_t> bytes = read_bytes(read.file, kFileLimit);
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    std::size_t end = rest.find('\n');
    std::int64_t line = static_cast<std::int64_t>(read.lines.size()) + 1;
    if (end == std::string_view::npos) refuse(read.file, line, "expected a line with its end, got a cut one");
    read.lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (!entry.contains("lines") || entry["lines"] != read.lines.size()) {
    refuse(read.file, static_cast<std::int64_t>(read.lines.size()), "expected {} lines, as the manifest says, got {}",
           entry.value("lines", Json()).dump(), read.lines.size());
  }
  return read;
}

/// One line of the file of programs: an object with `name` and `program`.
Json read_named_program(const Lines& read, std::size_t line) {
  Json json = json_or_discarded(read.lines[line]);
  if (!json.is_object() || text_in(json, "name").empty() || !json.contains("program"))
    refuse(read.file, static_cast<std::int64_t>(line) + 1, "expected an object with `name` and `program`");
  return json;
}

Lines read_programs(const fs::path& folder, const Json& manifest) {
  Json entry = manifest.value("programs", Json());
  if (!entry.is_object())
    refuse(folder / "manifest.json", 1, "expected an object `programs`, got {}", entry.type_name());
  return read_listed(folder, entry);
}

/// Their names, each once.
std::set<std::string> names_of_programs(const Lines& read) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < read.lines.size(); ++i) {
    std::string name = text_in(read_named_program(read, i), "name");
    if (!names.insert(name).second)
      refuse(read.file, static_cast<std::int64_t>(i) + 1, "expected a name of its own, got '{}' again", name);
  }
  return names;
}

Record read_record(const std::string& text, const std::string& mode, const fs::path& file, std::int64_t line) {
  Json json = json_or_discarded(text);
  if (!json.is_object()) refuse(file, line, "expected a record, an object of JSON on one line, got something else");
  Record record{text_in(json, "id"),      text_in(json, "program"), text_in(json, "class"),
                text_in(json, "verdict"), text_in(json, "detail"),  text};
  if (text_in(json, "mode") != mode) refuse(file, line, "expected mode {}, got '{}'", mode, text_in(json, "mode"));
  if (record.program.empty() || record.group.empty() || record.id != record.program + "@" + mode)
    refuse(file, line, "expected `program`, `class` and the id PROGRAM@{}, got the id '{}'", mode, record.id);
  if (std::none_of(verdicts().begin(), verdicts().end(),
                   [&](const Verdict& known) { return record.verdict == known.name; }))
    refuse(file, line, "expected a known verdict, got '{}'", record.verdict);
  for (const char* key : kValues) {
    if (!json.contains(key) || !json[key].is_object())
      refuse(file, line, "expected an object `{}` of values, got none", key);
  }
  if (!json.contains("seconds") || !json["seconds"].is_number())
    refuse(file, line, "expected `seconds`, a number, got none");
  return record;
}

/// The counts in the manifest are those of the records.
void require_counts(const fs::path& folder, const Json& entry, const Mode& mode) {
  std::map<std::string, Json> found, said;
  for (const Record& record : mode.records) {
    Json& count = found[record.verdict];
    count = count.is_null() ? 1 : count.get<std::int64_t>() + 1;
  }
  Json counts = entry.value("verdicts", Json());
  if (counts.is_null()) return;
  for (const auto& [verdict, count] : counts.items()) said[verdict] = count;  // in whatever order they stand there
  if (said != found)
    refuse(folder / "manifest.json", 1, "expected the verdicts {} of mode {}, as its records have, got {}",
           Json(found).dump(), mode.name, counts.dump());
}

Mode read_mode(const fs::path& folder, const Json& entry, const std::set<std::string>& programs) {
  Mode mode{text_in(entry, "mode"), text_in(entry, "framework"), text_in(entry, "about"), {}};
  Lines read = read_listed(folder, entry);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < read.lines.size(); ++i) {
    std::int64_t line = static_cast<std::int64_t>(i) + 1;
    mode.records.push_back(read_record(read.lines[i], mode.name, read.file, line));
    if (!seen.insert(mode.records.back().id).second)
      refuse(read.file, line, "expected an id of its own, got '{}' again", mode.records.back().id);
    if (const std::string& name = mode.records.back().program; !programs.contains(name))
      refuse(read.file, line, "expected one of the programs of the manifest, got '{}'", name);
  }
  require_counts(folder, entry, mode);
  return mode;
}

fs::path folder_of(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    if (path.filename() == "manifest.json") return path.parent_path();
    fail(ErrorKind::user, "[cohort] expected a folder with manifest.json, got the file {}", path.string());
  }
  if (!fs::exists(path / "manifest.json", error) && fs::exists(path / "report" / "manifest.json", error))
    return path / "report";
  return path;
}

}  // namespace

const std::vector<Verdict>& verdicts() {
  static const std::vector<Verdict> all = {
      {"match", "gradients, state and effects are those expected"},
      {"reject_allowed", "refused, where the language allows it"},
      {"reject_needless", "refused, although it could be honoured"},
      {"silent", "a wrong gradient without a word"},
      {"state", "right gradients, wrong state or effects"},
      {"unsupported", "the framework cannot express the program"},
      {"crash", "the process died or gave no answer"},
  };
  return all;
}

bool is_right(const std::string& verdict) { return verdict == "match" || verdict == "reject_allowed"; }

bool is_wrong(const std::string& verdict) { return !is_right(verdict) && verdict != "unsupported"; }

Cohort read_cohort(const fs::path& path) {
  Cohort cohort{folder_of(path), {}, {}};
  fs::path file = cohort.folder / "manifest.json";
  cohort.manifest =
      parse_json(read_text_file(file, "cohort", kManifestLimit), "cohort", file.string(), "a manifest as JSON");
  if (!cohort.manifest.is_object() || text_in(cohort.manifest, "schema") != kSchema)
    refuse(file, 1, "expected a manifest of schema {}, got something else", kSchema);
  if (!cohort.manifest.contains("modes") || !cohort.manifest["modes"].is_array())
    refuse(file, 1, "expected a list `modes`, got none");
  std::set<std::string> programs = names_of_programs(read_programs(cohort.folder, cohort.manifest));
  std::size_t records = 0;
  for (const Json& entry : cohort.manifest["modes"]) {
    if (!entry.is_object()) refuse(file, 1, "expected modes that are objects, got {}", entry.dump());
    cohort.modes.push_back(read_mode(cohort.folder, entry, programs));
    records += cohort.modes.back().records.size();
  }
  if (records == 0) refuse(file, 1, "expected modes with records, got none");
  if (cohort.manifest.value("records", Json()) != records)
    refuse(file, 1, "expected `records` to be {}, got {}", records, cohort.manifest.value("records", Json()).dump());
  return cohort;
}

Json read_program(const Cohort& cohort, const std::string& name) {
  Lines read = read_programs(cohort.folder, cohort.manifest);
  for (std::size_t i = 0; i < read.lines.size(); ++i) {
    Json json = read_named_program(read, i);
    if (text_in(json, "name") == name) return json["program"];
  }
  fail(ErrorKind::user, "[cohort] expected the name of a program in {}, got '{}'", read.file.string(), name);
}

}  // namespace reprise::cohort
