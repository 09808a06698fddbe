#include "models/config/reference.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace reprise {
namespace {

/// The keys of one heading: those every run has, or those of one model type.
struct Group {
  std::string title;
  std::vector<Key> keys;
};

std::vector<Group> groups_of(const Schema& schema) {
  KeySet any = schema.keys_for(schema.model_types().front().name);
  Group common{schema.type_key() == "model.type" ? "Keys of every run" : "Keys of every file", {}};
  for (const Key& key : schema.common())
    common.keys.push_back(key.name == schema.type_key() ? *any.find(key.name) : key);
  std::vector<Group> groups{std::move(common)};
  for (const ModelType& type : schema.model_types()) {
    groups.push_back({fmt::format("Keys of {} {}: {}", schema.type_key(), type.name, type.summary), type.keys});
  }
  return groups;
}

/// The default, and the other defaults that model types give a common key.
std::string default_text(const Schema& schema, const Key& key, bool common) {
  std::string text = value_yaml(key, key.default_value);
  if (!common) return text;
  for (const ModelType& type : schema.model_types()) {
    for (const ModelType::Default& other : type.defaults) {
      if (other.key == key.name) text += fmt::format(" ({}: {})", type.name, value_yaml(key, other.value));
    }
  }
  return text;
}

std::string range_text(const Key& key) {
  if (!key.choices.empty()) {
    std::string names = fmt::format("{}", fmt::join(key.choices, ", "));
    return key.type == KeyType::words ? names + ", or a list of names"
           : key.type == KeyType::map ? "values: " + names
                                      : names;
  }
  return key.range.text();
}

std::string unit_text(const Key& key) { return key.unit.empty() ? "-" : key.unit; }

/// Breaks at blanks so that no line is longer than `width`, each line after `indent`.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out, line;
  auto flush = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) flush();
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  flush();
  return out;
}

std::string escaped_cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

}  // namespace

std::string reference_text(const Schema& schema, int width) {
  std::size_t columns = static_cast<std::size_t>(std::max(width, 60));
  std::string out;
  bool common = true;
  for (const Group& group : groups_of(schema)) {
    out += fmt::format("{}{}\n", out.empty() ? "" : "\n", wrapped(group.title, 0, columns));
    out += fmt::format("{:<28}{:<17}{:<13}{}\n", "key", "type", "unit", "default");
    for (const Key& key : group.keys) {
      out += fmt::format("{:<27} {:<16} {:<12} {}\n", key.name, type_name(key.type), unit_text(key),
                         default_text(schema, key, common));
      out += wrapped(key.meaning, 4, columns);
      std::string range = range_text(key);
      if (!range.empty()) out += wrapped("range: " + range, 4, columns);
    }
    common = false;
  }
  return out;
}

std::string reference_markdown(const Schema& schema) {
  std::string out;
  bool common = true;
  for (const Group& group : groups_of(schema)) {
    out += fmt::format(
        "{}## {}\n\n| key | type | unit | default | range | meaning |\n| --- | --- | --- | --- | --- | --- |\n",
        out.empty() ? "" : "\n", group.title);
    for (const Key& key : group.keys) {
      std::string range = range_text(key);
      out += fmt::format("| `{}` | {} | {} | `{}` | {} | {} |\n", key.name, type_name(key.type), unit_text(key),
                         escaped_cell(default_text(schema, key, common)), range.empty() ? "-" : escaped_cell(range),
                         escaped_cell(key.meaning));
    }
    common = false;
  }
  return out;
}

}  // namespace reprise
