#include "recompute/json_place.h"

#include <algorithm>
#include <cmath>

namespace reprise {

JsonPlace JsonPlace::at(const char* key) const {
  auto found = json_.find(key);
  if (found == json_.end()) refuse("expected the key '{}', got none", key);
  return {*found, who_, source_, path_.empty() ? key : path_ + "." + key};
}

JsonPlace JsonPlace::object_at(const char* key) const {
  JsonPlace found = at(key);
  if (!found.is_object()) found.refuse("expected an object, got {}", found.json_.type_name());
  return found;
}

const JsonPlace& JsonPlace::object(const std::set<std::string>& keys) const {
  if (!json_.is_object()) refuse("expected an object, got {}", json_.type_name());
  for (const auto& [key, value] : json_.items()) {
    if (!keys.contains(key)) refuse("unknown key '{}'", shown_part(key));
  }
  return *this;
}

std::string JsonPlace::text() const {
  if (!json_.is_string()) refuse("expected text, got {}", json_.type_name());
  return json_.get<std::string>();
}

std::string JsonPlace::one_of(std::initializer_list<const char*> words) const {
  std::string word = text(), known;
  for (const char* each : words) {
    if (word == each) return word;
    known += (known.empty() ? "" : ", ") + std::string(each);
  }
  refuse("expected one of {}, got '{}'", known, shown_part(word));
}

bool JsonPlace::flag() const {
  if (!json_.is_boolean()) refuse("expected true or false, got {}", json_.type_name());
  return json_.get<bool>();
}

std::uint64_t JsonPlace::natural() const {
  if (!json_.is_number_unsigned())
    refuse("expected a whole number from 0 on, got {}", json_.is_number() ? json_.dump() : json_.type_name());
  return json_.get<std::uint64_t>();
}

std::int64_t JsonPlace::count() const {
  std::uint64_t number = natural();
  if (number > static_cast<std::uint64_t>(INT64_MAX)) refuse("expected a number below 2^63, got {}", number);
  return static_cast<std::int64_t>(number);
}

std::int64_t JsonPlace::integer(std::int64_t least, std::int64_t most) const {
  bool fits = json_.is_number_integer() &&
              (!json_.is_number_unsigned() || json_.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  std::int64_t value = fits ? json_.get<std::int64_t>() : 0;
  if (fits && value >= least && value <= most) return value;
  refuse("expected a whole number from {} to {}, got {}", least, most,
         json_.is_number() ? json_.dump() : json_.type_name());
}

double JsonPlace::real(double least, double most) const {
  double value = json_.is_number() ? json_.get<double>() : NAN;
  if (value >= least && value <= most) return value;
  refuse("expected a number from {} to {}, got {}", least, most, json_.is_number() ? json_.dump() : json_.type_name());
}

std::vector<std::string> JsonPlace::texts() const {
  return list([](const JsonPlace& place) { return place.text(); });
}

std::vector<std::pair<std::string, std::string>> JsonPlace::pairs() const {
  if (!json_.is_object()) refuse("expected an object, got {}", json_.type_name());
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [key, value] : json_.items())
    out.emplace_back(key, JsonPlace(value, who_, source_, path_ + "." + key).text());
  return out;
}

nlohmann::ordered_json parse_document(const std::string& text, const char* who, const std::string& source,
                                      const char* format, const char* made_by) {
  nlohmann::ordered_json json = parse_json(text, who, source, fmt::format("JSON written by `{}`", made_by));
  JsonPlace root(json, who, source);
  if (!root.has("format")) root.refuse("expected a document of format {}, got none", format);
  if (std::string found = root.at("format").text(); found != format) {
    bool same_kind = found.substr(0, found.find('/')) == std::string(format).substr(0, std::string(format).find('/'));
    root.refuse("expected format {}, got '{}', {}", format, shown_part(found),
                same_kind ? "of another build. Write it anew with this build"
                          : fmt::format("another kind of document. `{}` writes what is expected", made_by));
  }
  return json;
}

}  // namespace reprise
