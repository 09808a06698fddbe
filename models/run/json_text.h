// JSON as the run folder holds it: numbers in the shortest form that reads back as the same double, keys in the order
// they were set, no number that JSON does not have (an infinite or undefined one becomes null).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace reprise {

using Json = nlohmann::ordered_json;

/// On one line, without a line end.
std::string json_line(const Json& value);

/// What stands at "a/b" in nested objects; null where there is nothing, or no object on the way.
const Json& json_at(const Json& value, std::string_view path);

/// The text under `key`; empty where there is none, or no object.
std::string text_in(const Json& value, const char* key);

/// Indented by two blanks, with a line end; lists stand on one line.
std::string json_pretty(const Json& value);

}  // namespace reprise
