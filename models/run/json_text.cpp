#include "models/run/json_text.h"

#include <algorithm>
#include <cmath>

#include "models/config/key.h"

namespace reprise {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// `indent` below 0: everything on one line.
void print(const Json& value, int indent, std::string& out) {
  std::string line = indent < 0 ? "" : "\n" + std::string(static_cast<std::size_t>(indent) + 2, ' ');
  if (value.is_object() && !value.empty()) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : value.items()) {
      if (!first) out += indent < 0 ? ", " : ",";
      first = false;
      out += line + quoted(key) + ": ";
      print(item, indent < 0 ? indent : indent + 2, out);
    }
    out += indent < 0 ? "}" : line.substr(0, line.size() - 2) + "}";
  } else if (value.is_array()) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ", ";
      print(value[i], -1, out);
    }
    out += ']';
  } else if (value.is_number_float()) {
    double number = value.get<double>();
    out += std::isfinite(number) ? real_text(number) : "null";
  } else if (value.is_string()) {
    out += quoted(value.get_ref<const std::string&>());
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string json_line(const Json& value) {
  std::string out;
  print(value, -1, out);
  return out;
}

const Json& json_at(const Json& value, std::string_view path) {
  static const Json kNothing;
  const Json* at = &value;
  while (!path.empty()) {
    std::size_t end = std::min(path.find('/'), path.size());
    if (!at->is_object()) return kNothing;
    auto found = at->find(std::string(path.substr(0, end)));
    if (found == at->end()) return kNothing;
    at = &*found;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return *at;
}

std::string text_in(const Json& value, const char* key) {
  auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string json_pretty(const Json& value) {
  std::string out;
  print(value, 0, out);
  return out + "\n";
}

}  // namespace reprise
