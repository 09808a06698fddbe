#include "recompute/json_place.h"

namespace reprise {

nlohmann::ordered_json parse_document(const std::string& text, const char* who, const std::string& source,
                                      const char* format, const char* made_by) {
  using Json = nlohmann::ordered_json;
  constexpr int kDeepest = 64;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kDeepest) fail(ErrorKind::user, "[{}] {}: nested deeper than {} levels", who, source, kDeepest);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    auto key = value.get<std::string>();
    if (keys.back().insert(key).second) return true;
    fail(ErrorKind::user, "[{}] {}: the key '{}' comes twice in one object", who, source, key.substr(0, 60));
  };
  Json json = Json::parse(text, check, false);
  if (json.is_discarded()) {
    fail(ErrorKind::user, "[{}] {}: expected JSON written by `{}`, got something else", who, source, made_by);
  }
  JsonPlace root(json, who, source);
  if (!root.has("format")) root.refuse("expected a document of format {}, got none", format);
  if (std::string found = root.at("format").text(); found != format) {
    root.refuse("expected format {}, got '{}', of another build. Write it anew with this build", format,
                found.substr(0, 60));
  }
  return json;
}

}  // namespace reprise
