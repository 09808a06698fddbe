#include "recompute/json_place.h"

namespace reprise {

nlohmann::ordered_json parse_document(const std::string& text, const char* who, const std::string& source,
                                      const char* format, const char* made_by) {
  using Json = nlohmann::ordered_json;
  constexpr int kDeepest = 64;
  Json json = Json::parse(text, strict_parse<Json>(who, source, kDeepest), false);
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
