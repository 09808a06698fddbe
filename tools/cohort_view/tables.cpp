#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "tools/cohort_view/cohort.h"

namespace reprise::cohort {
namespace {

constexpr std::size_t kColumn = 13;  // of tables with a column a mode

std::int64_t count(const Mode& mode, const std::string& verdict) {
  return std::count_if(mode.records.begin(), mode.records.end(),
                       [&](const Record& record) { return record.verdict == verdict; });
}

/// "torch_nonreentrant" as two lines of at most kColumn - 1 letters: the framework, and the rest.
std::pair<std::string, std::string> head(const Mode& mode) {
  std::size_t at = mode.name.find('_');
  if (at == std::string::npos) return {"", mode.name.substr(0, kColumn - 1)};
  return {mode.name.substr(0, at), mode.name.substr(at + 1, kColumn - 1)};
}

std::string heads(const Cohort& cohort, std::size_t first) {
  std::string upper(first, ' '), lower(first, ' ');
  for (const Mode& mode : cohort.modes) {
    auto [above, below] = head(mode);
    upper += fmt::format("{:>{}}", above, kColumn);
    lower += fmt::format("{:>{}}", below, kColumn);
  }
  return upper + "\n" + lower + "\n";
}

/// Without blanks before line ends.
std::string trimmed(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\n') out.erase(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

std::map<std::string, std::string> verdicts_of(const Mode& mode) {
  std::map<std::string, std::string> found;
  for (const Record& record : mode.records) found[record.program] = record.verdict;
  return found;
}

const Mode& find_mode(const Cohort& cohort, const std::string& name) {
  for (const Mode& mode : cohort.modes) {
    if (mode.name == name) return mode;
  }
  std::string names;
  for (const Mode& mode : cohort.modes) names += (names.empty() ? "" : ", ") + mode.name;
  fail(ErrorKind::user, "[cohort] expected a mode among {}, got '{}'", names, name);
}

struct Tally {
  std::int64_t records = 0, wrong = 0, unsupported = 0;
};

std::map<std::string, std::map<std::string, Tally>> by_class(const Cohort& cohort) {
  std::map<std::string, std::map<std::string, Tally>> tallies;
  for (const Mode& mode : cohort.modes) {
    for (const Record& record : mode.records) {
      Tally& tally = tallies[record.group][mode.name];
      ++tally.records;
      tally.wrong += is_wrong(record.verdict);
      tally.unsupported += record.verdict == "unsupported";
    }
  }
  return tallies;
}

}  // namespace

std::string verdict_table(const Cohort& cohort) {
  constexpr const char* kHeads[] = {"match", "reject", "reject", "silent", "state", "cannot", "crash"};
  constexpr const char* kBelow[] = {"", "allowed", "needless", "wrong", "wrong", "express", ""};
  std::string upper = fmt::format("{:<22}", ""), lower = fmt::format("{:<22}", "mode");
  for (std::size_t i = 0; i < std::size(kHeads); ++i) {
    upper += fmt::format("{:>{}}", kHeads[i], kColumn);
    lower += fmt::format("{:>{}}", kBelow[i], kColumn);
  }
  std::string text = upper + fmt::format("{:>{}}\n", "all", kColumn) + lower + "\n";
  for (const Mode& mode : cohort.modes) {
    text += fmt::format("{:<22}", mode.name);
    for (const Verdict& verdict : verdicts()) text += fmt::format("{:>{}}", count(mode, verdict.name), kColumn);
    text += fmt::format("{:>{}}\n", mode.records.size(), kColumn);
  }
  return trimmed(text);
}

std::string class_table(const Cohort& cohort) {
  std::string text = heads(cohort, 8);
  for (const auto& [group, modes] : by_class(cohort)) {
    text += fmt::format("{:<8}", group);
    for (const Mode& mode : cohort.modes) {
      auto found = modes.find(mode.name);
      std::string cell;
      if (found != modes.end()) {
        const Tally& tally = found->second;
        std::int64_t expressed = tally.records - tally.unsupported;
        cell = expressed == 0 ? "-" : tally.wrong == 0 ? "." : fmt::format("{}/{}", tally.wrong, expressed);
      }
      text += fmt::format("{:>{}}", cell, kColumn);
    }
    text += "\n";
  }
  return trimmed(text);
}

std::string difference_table(const Cohort& cohort) {
  std::string text = heads(cohort, 22);
  std::vector<std::map<std::string, std::string>> verdicts;
  for (const Mode& mode : cohort.modes) verdicts.push_back(verdicts_of(mode));
  for (std::size_t row = 0; row < cohort.modes.size(); ++row) {
    text += fmt::format("{:<22}", cohort.modes[row].name);
    for (std::size_t column = 0; column < row; ++column) {
      std::int64_t differ = 0;
      for (const auto& [program, verdict] : verdicts[row]) {
        auto found = verdicts[column].find(program);
        differ += found != verdicts[column].end() && found->second != verdict;
      }
      text += fmt::format("{:>{}}", differ, kColumn);
    }
    text += "\n";
  }
  return trimmed(text);
}

std::string difference_list(const Cohort& cohort, const std::string& first, const std::string& second) {
  std::map<std::string, std::string> left = verdicts_of(find_mode(cohort, first));
  std::string text;
  for (const Record& record : find_mode(cohort, second).records) {
    auto found = left.find(record.program);
    if (found == left.end() || found->second == record.verdict) continue;
    text += fmt::format("{:<24}{:<6}{:<18}{:<18}{}\n", record.program, record.group, found->second, record.verdict,
                        record.detail);
  }
  return text;
}

Json summary(const Cohort& cohort) {
  Json json = {{"folder", cohort.folder.string()}, {"records", cohort.manifest["records"]}, {"modes", Json::object()}};
  for (const Mode& mode : cohort.modes) {
    Json& counts = json["modes"][mode.name]["verdicts"];
    for (const Verdict& verdict : verdicts()) counts[verdict.name] = count(mode, verdict.name);
  }
  for (const auto& [group, modes] : by_class(cohort)) {
    for (const auto& [name, tally] : modes) {
      json["modes"][name]["classes"][group] = {
          {"records", tally.records}, {"wrong", tally.wrong}, {"unsupported", tally.unsupported}};
    }
  }
  return json;
}

}  // namespace reprise::cohort
