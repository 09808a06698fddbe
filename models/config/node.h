// The neutral tree that the YAML reader and the override reader both produce: null, scalar, list or map, each with the
// place it was written at. Everything after the two readers (schema, values, error texts) sees only this tree.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace reprise {

/// What the source of an argument begins with; its number and its text follow.
inline constexpr const char* kArgumentSource = "command line argument ";

/// Where something was written: a file with line and column, or an argument of the command line with a column. Lines
/// and columns count from 1; line 0 means that the source has no lines.
struct Position {
  std::string source;
  std::int64_t line = 0;
  std::int64_t column = 0;

  bool known() const { return !source.empty(); }
  bool on_command_line() const { return source.starts_with(kArgumentSource); }
  /// "file.yaml:3:5" or "command line argument 3: train.batch=x:13".
  std::string text() const;
};

/// Limits that keep a hostile configuration from costing more than a moment.
constexpr int kDeepestNesting = 32;
constexpr std::int64_t kLongestConfigFile = 256 * 1024;
constexpr std::int64_t kLongestOverride = 64 * 1024;

struct ConfigNode {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  struct Entry;

  Kind kind = Kind::null;
  bool quoted = false;            // a scalar written in quotes is text, never a number
  std::string text;               // of a scalar
  std::vector<ConfigNode> items;  // of a list
  std::vector<Entry> entries;     // of a map, in the order written
  Position position;
};

struct ConfigNode::Entry {
  std::string key;
  Position position;
  ConfigNode value;
};

/// "a list", "the text \"x\"": how error texts name what was found.
std::string describe(const ConfigNode& node);

/// Text in double quotes with anything unprintable escaped, cut after 80 bytes. For error texts.
std::string quoted_for_message(std::string_view text);

/// The place of the first byte that belongs to no character of UTF-8 (RFC 3629, table of section 4), or npos.
std::size_t find_no_utf8(std::string_view text);
/// `text` with `instead` for each byte that no line of a configuration could hold: control characters, no UTF-8.
std::string without_bad_bytes(std::string text, char instead);

/// Throws ErrorKind::config with the position in front of the message.
template <class... Args>
[[noreturn]] void fail_config(const Position& position, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::config, position.text() + ": " + fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace reprise
