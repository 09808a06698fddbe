#include "recompute/json_parse.h"

#include <algorithm>

namespace reprise {

std::size_t find_nested_deeper(std::string_view text, int deepest) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

std::string place_in(const std::string& source, std::string_view text, std::size_t at) {
  std::string_view before = text.substr(0, std::min(at, text.size()));
  std::size_t end = before.rfind('\n'), line_start = end == std::string_view::npos ? 0 : end + 1;
  return fmt::format("{}:{}:{}", source, std::count(before.begin(), before.end(), '\n') + 1,
                     before.size() - line_start + 1);
}

nlohmann::ordered_json json_or_discarded(std::string_view text) {
  using Json = nlohmann::ordered_json;
  if (find_nested_deeper(text, kDeepestJson) != std::string_view::npos) return Json(Json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, false);
}

}  // namespace reprise
