// Reads what a report is made from: records, the study's settings, and memory over a step.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "data/archive.h"
#include "data/folder.h"
#include "data/text_file.h"
#include "recompute/json_parse.h"
#include "tools/report/study_data.h"
#include "tools/study/tasks.h"

namespace reprise::report {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;  // of records, uncompressed

bool ends_with_any(const std::string& text, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return text.ends_with(end); });
}

bool is_record_file(const fs::path& path) {
  return ends_with_any(path.filename().string(), {".jsonl", ".jsonl.xz", ".jsonl.gz"});
}

/// The first of records.jsonl, records.jsonl.xz that the folder has; empty for none.
fs::path record_file_in(const fs::path& folder) {
  std::error_code error;
  for (const char* name : {"records.jsonl", "records.jsonl.xz", "records.jsonl.gz"}) {
    if (fs::is_regular_file(folder / name, error)) return folder / name;
  }
  return {};
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  fail(ErrorKind::user, "[report] {}: {}", path.string(), why);
}

std::vector<double> numbers(const fs::path& path, const Json& list, const std::string& name) {
  if (!list.is_array() || list.empty()) refuse(path, "expected a list of bytes for " + name + ", got something else");
  std::vector<double> values;
  for (const Json& value : list) {
    if (!value.is_number()) refuse(path, "expected a list of bytes for " + name + ", got " + value.dump());
    values.push_back(value.get<double>());
  }
  return values;
}

/// "joint" of "dense_queue, batch 128, method joint, 3 segments marked".
std::string method_in(const std::string& title) {
  std::size_t at = title.rfind("method ");
  if (at == std::string::npos) return "";
  at += std::strlen("method ");
  return title.substr(at, std::min(title.find(',', at), title.size()) - at);
}

/// What `reprise explain --json` says under memory.predicted: a start and the changes, each of one category.
void add_changes(StepMemory& memory, const fs::path& path, const Json& timeline) {
  if (!timeline.is_object()) refuse(path, "expected memory.predicted as an object, got something else");
  const Json before = timeline.value("before", Json::object()), names = timeline.value("category", Json::array());
  if (!names.is_array()) refuse(path, "expected a list memory.predicted.category, got something else");
  std::vector<double> deltas = numbers(path, timeline.value("delta", Json()), "memory.predicted.delta");
  if (names.size() != deltas.size()) refuse(path, "expected as many categories as changes");
  for (const Json& name : names) {
    if (!name.is_string() || !before.contains(name.get<std::string>()))
      refuse(path, "expected a category of memory.predicted.before, got " + name.dump());
  }
  for (const auto& [name, bytes] : before.items()) {
    std::vector<double> live{bytes.is_number() ? bytes.get<double>() : 0};
    for (std::size_t i = 0; i < deltas.size(); ++i) live.push_back(live.back() + (names[i] == name ? deltas[i] : 0));
    memory.categories.emplace_back(name, std::move(live));
  }
}

StepMemory read_memory(const fs::path& path) {
  Json json = parse_json(record_text(path), "report", path.string(), "memory over a step as JSON");
  if (!json.is_object()) refuse(path, "expected memory over a step as a JSON object, got something else");
  StepMemory memory;
  std::string title = text_in(json, "title");
  memory.workload = text_in(json, "workload");
  if (memory.workload.empty()) memory.workload = title.substr(0, title.find(','));
  memory.method = text_in(json, "method");
  if (memory.method.empty()) memory.method = method_in(title);
  double budget = number_in(json, "budget_bytes");
  if (json.contains("budget") && json["budget"].is_object()) budget = number_in(json["budget"], "bytes");
  if (budget > 0) memory.budget = budget;
  if (json.contains("memory") && json["memory"].is_object() && json["memory"].contains("predicted")) {
    add_changes(memory, path, json["memory"]["predicted"]);
  } else if (json.contains("categories") && json["categories"].is_object()) {
    for (const auto& [name, list] : json["categories"].items()) {
      memory.categories.emplace_back(name, numbers(path, list, "categories." + name));
    }
  } else {
    refuse(path, "expected `categories` (name -> bytes at each moment) or what `reprise explain --json` writes");
  }
  for (const auto& [name, bytes] : memory.categories) {
    if (bytes.size() == memory.categories.front().second.size()) continue;
    refuse(path,
           fmt::format("expected lists of one length, got {} for {} and {} for {}",
                       memory.categories.front().second.size(), memory.categories.front().first, bytes.size(), name));
  }
  if (memory.method.empty()) refuse(path, "expected the `method`, got none");
  return memory;
}

std::vector<StepMemory> read_extra(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {};
  for (const fs::path& path : paths_in(folder, "report")) {
    if (ends_with_any(path.filename().string(), {".json", ".json.xz"})) files.push_back(path);
  }
  std::vector<StepMemory> all;
  for (const fs::path& file : files) all.push_back(read_memory(file));
  return all;
}

/// The study's seed: from its first record, else from its settings, else the default of a study.
std::uint64_t seed_of(const Study& study) {
  for (const study::Record& record : study.records) {
    double seed = record.kind == "study" ? number_in(record.json, "seed") : Measured::kNone;
    if (seed >= 0) return static_cast<std::uint64_t>(seed);
  }
  std::size_t at = study.settings.starts_with("seed: ") ? 6 : study.settings.find("\nseed: ");
  if (at == std::string::npos) return 1;
  return std::strtoull(study.settings.c_str() + (at == 6 ? 6 : at + 7), nullptr, 10);
}

/// How many tasks of each kind the study has: its first record says so, else the list that lies in its folder.
std::map<std::string, std::int64_t> tasks_of(const Study& study, const fs::path& folder) {
  std::map<std::string, std::int64_t> counts;
  const Json& start = start_of(study);
  if (start.is_object() && start.contains("tasks") && start["tasks"].is_object()) {
    for (const auto& [kind, count] : start["tasks"].items()) {
      if (count.is_number_integer()) counts[kind] = count.get<std::int64_t>();
    }
    return counts;
  }
  fs::path list = folder / "tasks.json";
  std::error_code error;
  if (folder.empty() || !fs::is_regular_file(list, error)) return counts;
  for (const study::Task& task : study::tasks_from_json(read_text_file(list, "report", kMostBytes), list.string()))
    ++counts[task.kind];
  return counts;
}

/// "row_memory" of "records/row_memory.jsonl.xz".
fs::path without_ends(const fs::path& file) {
  std::string name = file.filename().string();
  return file.parent_path() / name.substr(0, name.find(".jsonl"));
}

}  // namespace

std::string record_text(const fs::path& file) {
  std::vector<std::uint8_t> bytes = read_bytes(file, kMostBytes);
  return {bytes.begin(), bytes.end()};
}

bool is_study(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return !record_file_in(path).empty();
  return fs::is_regular_file(path, error) && is_record_file(path);
}

Study read_study(const fs::path& path) {
  std::error_code error;
  bool folder = fs::is_directory(path, error);
  if (!folder && !fs::exists(path, error))
    refuse(path, "expected the folder of a study or a file of records, got nothing there");
  fs::path file = folder ? record_file_in(path) : path;
  if (file.empty())
    refuse(path, "expected the folder of a study, got one without records.jsonl. `reprise study` writes it");
  if (!is_record_file(file)) refuse(path, "expected a folder or a name that ends in .jsonl or .jsonl.xz");
  Study study;
  study.source = file.generic_string();
  std::string text = record_text(file);
  study.records = study::parse_records(text, file.string());
  if (study.records.empty())
    refuse(file, std::string("expected at least one record, got ") +
                     (text.empty() ? "an empty file" : "one line without an end, which was never finished"));
  fs::path settings = folder ? path / "study.yaml" : fs::path(without_ends(file).string() + ".yaml");
  if (fs::is_regular_file(settings, error)) study.settings = read_text_file(settings, "report", 1 << 20);
  study.memory = read_extra(folder ? path / "extra" : fs::path(without_ends(file).string() + ".extra"));
  study.resampling = seed_of(study);
  study.tasks = tasks_of(study, folder ? path : fs::path());
  study.name = study.records.front().json["study"].get<std::string>();
  return study;
}

}  // namespace reprise::report
