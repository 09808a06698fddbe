#include "tools/report/cohort_data.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "data/archive.h"
#include "data/text_file.h"
#include "tools/report/study_data.h"

namespace reprise::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "reprise-cohort/1";
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;  // of one mode, uncompressed

template <class... Args>
[[noreturn]] void refuse(const fs::path& file, std::int64_t line, fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorKind::user, "{}:{}: {}", file.string(), line, fmt::format(format, std::forward<Args>(args)...));
}

Json read_manifest(const fs::path& file) {
  Json manifest = Json::parse(read_text_file(file, "report", 1 << 24), nullptr, false);
  if (!manifest.is_object() || text_in(manifest, "schema") != kSchema)
    refuse(file, 1, "expected a manifest of schema {}, got something else", kSchema);
  if (!manifest.contains("modes") || !manifest["modes"].is_array())
    refuse(file, 1, "expected a list `modes`, got none");
  return manifest;
}

bool known(const std::string& verdict) {
  return std::any_of(verdicts().begin(), verdicts().end(), [&](const Verdict& v) { return verdict == v.name; });
}

void read_records(CohortMode& mode, const fs::path& file) {
  std::vector<std::uint8_t> bytes = read_bytes(file, kMostBytes);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::set<std::string> seen;
  for (std::int64_t line = 1; !text.empty(); ++line) {
    std::size_t end = text.find('\n');
    if (end == std::string_view::npos) refuse(file, line, "expected a line with its end, the file is cut short");
    Json json = Json::parse(text.substr(0, end), nullptr, false);
    text.remove_prefix(end + 1);
    if (!json.is_object()) refuse(file, line, "expected a record, an object of JSON on one line, got something else");
    std::string id = text_in(json, "id"), group = text_in(json, "class"), verdict = text_in(json, "verdict");
    if (id.empty()) refuse(file, line, "expected a record with an `id`, got none");
    if (!known(verdict)) refuse(file, line, "expected a known verdict, got '{}'", verdict);
    if (text_in(json, "mode") != mode.name)
      refuse(file, line, "expected a record of the mode {}, got '{}'", mode.name, text_in(json, "mode"));
    if (!seen.insert(id).second) refuse(file, line, "expected an id of its own, got '{}' again", id);
    ++mode.verdicts[group.empty() ? "no class" : group][verdict];
    ++mode.records;
  }
}

}  // namespace

std::int64_t CohortMode::of(const std::string& group, const std::string& verdict) const {
  auto found = verdicts.find(group);
  if (found == verdicts.end()) return 0;
  auto count = found->second.find(verdict);
  return count == found->second.end() ? 0 : count->second;
}

std::int64_t CohortMode::of(const std::string& verdict) const {
  std::int64_t sum = 0;
  for (const auto& [group, counts] : verdicts) sum += of(group, verdict);
  return sum;
}

std::int64_t CohortMode::in(const std::string& group) const {
  std::int64_t sum = 0;
  auto found = verdicts.find(group);
  if (found == verdicts.end()) return 0;
  for (const auto& [verdict, count] : found->second) sum += count;
  return sum;
}

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

bool is_cohort(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path / "manifest.json", error)) return false;
  return read_text_file(path / "manifest.json", "report", 1 << 24).find(kSchema) != std::string::npos;
}

Cohort read_cohort(const fs::path& folder) {
  Cohort cohort;
  cohort.source = folder.generic_string();
  fs::path file = folder / "manifest.json";
  cohort.manifest = read_manifest(file);
  for (const Json& entry : cohort.manifest["modes"]) {
    CohortMode mode;
    mode.name = text_in(entry, "mode");
    mode.framework = text_in(entry, "framework");
    mode.about = text_in(entry, "about");
    std::string name = text_in(entry, "file");
    if (mode.name.empty() || name.empty() || name.find('/') != std::string::npos)
      refuse(file, 1, "expected modes with `mode` and `file`, got {}", entry.dump());
    read_records(mode, folder / name);
    double lines = number_in(entry, "lines");
    if (lines >= 0 && static_cast<std::int64_t>(lines) != mode.records) {
      refuse(folder / name, mode.records, "expected {} records, as the manifest says, got {}",
             static_cast<std::int64_t>(lines), mode.records);
    }
    cohort.modes.push_back(std::move(mode));
  }
  return cohort;
}

}  // namespace reprise::report
