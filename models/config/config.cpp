#include "models/config/config.h"

#include <filesystem>

namespace reprise {

const Config::Setting& Config::setting(const std::string& key) const {
  auto found = settings_.find(key);
  if (found == settings_.end()) fail(ErrorKind::internal, "[config] expected a key of this run, got {}", key);
  return found->second;
}

const ConfigValue& Config::value(const std::string& key) const { return setting(key).value; }

const Position& Config::position(const std::string& key) const { return setting(key).position; }

Position Config::entry_position(const std::string& key, const std::string& entry) const {
  const Setting& found = setting(key);
  auto place = found.entries.find(entry);
  return place == found.entries.end() ? found.position : place->second;
}

Error Config::located(const std::string& key, const Position& position, const std::string& message) const {
  std::string value = value_yaml(*keys_.find(key), setting(key).value);
  if (value.size() > 80) value = value.substr(0, 80) + "...";
  std::string where = position.known() ? position.text() : "default of " + key;
  return Error(ErrorKind::config, fmt::format("{}: {} = {}: {}", where, key, value, message));
}

void Config::set(const std::string& key, ConfigValue value, const std::string& why) {
  auto found = settings_.find(key);
  bool fits = found != settings_.end() && found->second.value.index() == value.index();
  if (!fits) fail(ErrorKind::internal, "[config] expected a value of the type of {}, got another type", key);
  found->second.value = std::move(value);
  found->second.position = {why, 0, 0};
  found->second.entries.clear();
}

std::string Config::name() const {
  std::string stem = without_bad_bytes(std::filesystem::path(file_).stem().string(), '_');
  return stem.empty() ? "run" : stem;
}

namespace {

struct Line {
  std::string text;
  std::string source;
};

/// Prints the keys below `prefix` ("" or "model." and so on); sections stand where their first key was declared.
void print_section(const Config& config, const std::string& prefix, int depth, std::vector<Line>& lines) {
  std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  std::map<std::string, bool> printed;
  for (const Key& key : config.keys().keys()) {
    if (key.name.compare(0, prefix.size(), prefix) != 0) continue;
    std::string rest = key.name.substr(prefix.size());
    std::size_t dot = rest.find('.');
    if (dot == std::string::npos) {
      lines.push_back(
          {indent + rest + ": " + value_yaml(key, config.value(key.name)), config.position(key.name).text()});
      continue;
    }
    std::string section = rest.substr(0, dot);
    if (printed[section]) continue;
    printed[section] = true;
    lines.push_back({indent + section + ":", ""});
    print_section(config, prefix + section + ".", depth + 1, lines);
  }
}

}  // namespace

std::string Config::to_yaml(bool sources) const {
  std::vector<Line> lines;
  print_section(*this, "", 0, lines);
  std::size_t widest = 0;
  for (const Line& line : lines) widest = std::max(widest, std::min<std::size_t>(line.text.size(), 48));
  std::string out;
  for (const Line& line : lines) {
    out += sources && !line.source.empty() ? fmt::format("{:<{}}  # {}\n", line.text, widest, line.source)
                                           : line.text + "\n";
  }
  return out;
}

}  // namespace reprise
