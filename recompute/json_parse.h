// Parses JSON that anybody may have written: documents of this room, what a run leaves, records, conformance programs.
//
// A refusal says where, FILE:LINE:COLUMN. Nothing that is nested deeply passes: copying, comparing and printing a value
// take the stack for each of its levels.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace reprise {

/// Levels of nesting, several times what any document of this project has.
inline constexpr int kDeepestJson = 64;

/// Where in `text` a level beyond `deepest` is opened; npos where there is none.
std::size_t find_nested_deeper(std::string_view text, int deepest);

/// "plan.json:3:14" of the byte at `at`; lines and columns (in bytes) from 1.
std::string place_in(const std::string& source, std::string_view text, std::size_t at);

/// Refuses, as Json::parse goes, a key that comes twice in one object, which the library would let pass.
template <class Json>
typename Json::parser_callback_t refuse_keys_twice(const char* who, const std::string& source) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  return [who, source, keys = std::move(keys)](int, typename Json::parse_event_t event, Json& value) mutable {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    std::string key = value.template get<std::string>();
    if (keys.back().insert(key).second) return true;
    fail(ErrorKind::user, "[{}] {}: the key '{}' comes twice in one object", who, source, shown_part(key));
  };
}

/// The text as JSON. `who` heads the errors, `source` is the file's name, `what` was expected in it. Errors (user): no
/// JSON, nested deeper than `deepest` levels, a key twice in one object.
template <class Json = nlohmann::ordered_json>
Json parse_json(const std::string& text, const char* who, const std::string& source, const std::string& what,
                int deepest = kDeepestJson) {
  if (std::size_t at = find_nested_deeper(text, deepest); at != std::string_view::npos)
    fail(ErrorKind::user, "[{}] {}: nested deeper than {} levels", who, place_in(source, text, at), deepest);
  try {
    return Json::parse(text, refuse_keys_twice<Json>(who, source));
  } catch (const typename Json::parse_error& error) {
    fail(ErrorKind::user, "[{}] {}: expected {}, got {}", who,
         place_in(source, text, error.byte == 0 ? 0 : error.byte - 1), what,
         error.byte > text.size() ? "the end of the file" : "something else");
  } catch (const typename Json::exception& error) {  // a number that no double holds
    fail(ErrorKind::user, "[{}] {}: expected {}, got {}", who, source, what, error.what());
  }
}

/// The text as JSON, without errors, for lines whose reader knows their place: is_discarded() where it is none, or is
/// nested deeper than kDeepestJson.
nlohmann::ordered_json json_or_discarded(std::string_view text);

}  // namespace reprise
