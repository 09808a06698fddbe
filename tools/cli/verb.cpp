#include "tools/cli/verb.h"

#include <filesystem>

namespace reprise {
namespace {

std::vector<std::string>& command_line() {
  static std::vector<std::string> words;
  return words;
}

}  // namespace

void set_command_line(int argc, const char* const* argv) {
  command_line().assign(argv + std::min(argc, 1), argv + argc);
}

std::vector<OverrideText> number_as_typed(const std::vector<std::string>& words) {
  const std::vector<std::string>& typed = command_line();
  std::vector<OverrideText> numbered;
  std::size_t from = 0;
  for (const std::string& word : words) {
    std::size_t at = from;
    while (at < typed.size() && typed[at] != word) ++at;
    if (at < typed.size()) from = at + 1;
    numbered.push_back({word, static_cast<int>(at < typed.size() ? at + 1 : from)});
  }
  return numbered;
}

void ConfigArguments::add_to(Command& app) {
  app.add_option("config", words_, "a YAML file, then key=value to change keys (~key: back to its default)")
      .option_text("[CONFIG] [key=value...]")
      .expected(0, -1);
}

bool ConfigArguments::starts_with_file() const {
  if (words_.empty()) return false;
  const std::string& first = words_.front();
  bool looks_like_override = first.find('=') != std::string::npos || first.starts_with("~") || first.starts_with("+");
  std::error_code error;
  return !looks_like_override || std::filesystem::exists(first, error);
}

std::string ConfigArguments::file() const { return starts_with_file() ? words_.front() : ""; }

std::vector<OverrideText> ConfigArguments::overrides() const {
  std::vector<OverrideText> numbered = number_as_typed(words_);
  if (starts_with_file()) numbered.erase(numbered.begin());
  return numbered;
}

Config ConfigArguments::load() const {
  std::filesystem::path path = file();
  std::error_code error;
  if (!path.empty() && std::filesystem::exists(path / "config.yaml", error)) {
    fail(ErrorKind::user, "[config] expected a configuration file, got the folder of a run. Its configuration is {}",
         (path / "config.yaml").string());
  }
  return load_numbered_config(path.string(), overrides());
}

}  // namespace reprise
