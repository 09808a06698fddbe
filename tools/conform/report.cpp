#include "tools/conform/report.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "data/folder.h"

namespace reprise::conform {

namespace fs = std::filesystem;

std::vector<std::string> find_programs(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error))
      fail(ErrorKind::user, "[conform] expected a file or folder, got '{}', which does not exist", path);
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const fs::path& file : paths_in(path, "conform")) {
      if (file.extension() == ".json" && !fs::is_directory(file, error)) inside.push_back(file.string());
    }
    if (inside.empty()) fail(ErrorKind::user, "[conform] expected programs (*.json) in {}, got none", path);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

namespace {

std::string label(const Judgement& judgement) {
  std::string text = to_string(judgement.verdict);
  if (judgement.verdict == Verdict::reject) text += judgement.fine ? " (allowed)" : " (needless)";
  return text;
}

}  // namespace

void Report::add(const Program& program, const std::vector<Judgement>& judgements) {
  bool all_fine = true;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    ++counts_[methods_[i]][label(judgements[i])];
    all_fine &= judgements[i].fine;
  }
  fine_ &= all_fine;
  if (rows_ == Rows::none || (rows_ == Rows::not_fine && all_fine)) return;
  std::string row = fmt::format("{:<24}", program.name);
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    row += fmt::format("  {} {:<17}", to_string(methods_[i]), label(judgements[i]));
  }
  row.erase(row.find_last_not_of(' ') + 1);
  fmt::print("{}\n", row);
  std::set<std::string> said;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    if (judgements[i].detail.empty() || !said.insert(judgements[i].detail).second) continue;
    fmt::print("    {}: {}\n", to_string(methods_[i]), judgements[i].detail);
  }
}

void Report::print_summary() const {
  if (rows_ == Rows::none) return;
  std::set<std::string> labels;
  for (const auto& [method, counts] : counts_) {
    for (const auto& [text, count] : counts) labels.insert(text);
  }
  std::string head = fmt::format("{:<12}", "method");
  for (const std::string& text : labels) head += fmt::format("{:>20}", text);
  fmt::print("{}\n", head);
  for (Method method : methods_) {
    std::string row = fmt::format("{:<12}", to_string(method));
    auto counts = counts_.find(method);
    for (const std::string& text : labels) {
      int count = counts == counts_.end() || !counts->second.count(text) ? 0 : counts->second.at(text);
      row += fmt::format("{:>20}", count);
    }
    fmt::print("{}\n", row);
  }
}

}  // namespace reprise::conform
