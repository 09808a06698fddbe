#include "tools/report/cohort_data.h"

#include "data/text_file.h"
#include "tools/cohort_view/cohort.h"

namespace reprise::report {

namespace fs = std::filesystem;

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

bool is_cohort(const fs::path& path) {
  constexpr std::int64_t kMostBytes = 1 << 24;
  std::error_code error;
  for (const fs::path& file : {path / "manifest.json", path / "report" / "manifest.json"}) {
    if (fs::is_regular_file(file, error))
      return read_text_file(file, "report", kMostBytes).find("reprise-cohort/") != std::string::npos;
  }
  return false;
}

Cohort read_cohort(const fs::path& folder) {
  cohort::Cohort read = cohort::read_cohort(folder);
  Cohort counted{read.folder.generic_string(), read.manifest, {}};
  for (const cohort::Mode& mode : read.modes) {
    CohortMode& counts = counted.modes.emplace_back(CohortMode{mode.name, mode.framework, mode.about, {}, 0});
    for (const cohort::Record& record : mode.records) ++counts.verdicts[record.group][record.verdict];
    counts.records = static_cast<std::int64_t>(mode.records.size());
  }
  return counted;
}

}  // namespace reprise::report
