// The declaration of one configuration key (name, type, unit, range, default, meaning) and the value it may hold.
//
// A key is declared once, in a table (models/config/common_keys.cpp, model_keys.cpp, or beside a model of one's own);
// reading, checking, printing and the reference all follow from that line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/config/node.h"

namespace reprise {

enum class KeyType : std::uint8_t { integer, real, boolean, text, choice, bytes, duration, words, numbers, map };

using Words = std::vector<std::string>;
using Numbers = std::vector<double>;
/// Pairs in the order written, such as segment patterns and their options.
using WordMap = std::vector<std::pair<std::string, std::string>>;
/// A number of bytes, or none.
using Bytes = std::optional<std::int64_t>;
/// Integers as std::int64_t; reals, and durations in seconds, as double; text and choices as std::string.
using ConfigValue = std::variant<std::int64_t, double, bool, std::string, Bytes, Words, Numbers, WordMap>;

/// The numbers a key accepts. An open end excludes the bound itself. Infinite and undefined numbers are never accepted.
struct Range {
  double low = -1.7976931348623157e308;
  double high = 1.7976931348623157e308;
  bool low_open = false;
  bool high_open = false;

  bool holds(double number) const;
  /// "at least 1", "from 0 to 1", "above 0, below 1"; empty when every number is accepted.
  std::string text() const;
};

constexpr Range at_least(double low) { return {.low = low}; }
constexpr Range above(double low) { return {.low = low, .low_open = true}; }
constexpr Range between(double low, double high) { return {.low = low, .high = high}; }
/// [low, high), for instance a momentum or a dropout rate.
constexpr Range from_below(double low, double high) { return {.low = low, .high = high, .high_open = true}; }
/// (low, high].
constexpr Range above_to(double low, double high) { return {.low = low, .high = high, .low_open = true}; }

struct Key {
  std::string name;
  KeyType type = KeyType::text;
  ConfigValue default_value;
  std::string meaning;
  Range range;                  // of an integer, real or duration, and of each of a list of numbers
  std::string unit;             // for people: "steps", "images"
  Words choices;                // of a choice; of words: what a single word may be, of a map: what an option may be
  bool outside_prints = false;  // at its default no part of step_keys(): see outside_prints()
};

/// Builders, so that a table of keys reads as one line a key.
Key integer_key(std::string name, std::int64_t value, Range range, std::string unit, std::string meaning);
Key real_key(std::string name, double value, Range range, std::string unit, std::string meaning);
Key boolean_key(std::string name, bool value, std::string meaning);
Key text_key(std::string name, std::string value, std::string meaning);
Key choice_key(std::string name, std::string value, Words choices, std::string meaning);
Key bytes_key(std::string name, Bytes value, std::string meaning);
Key duration_key(std::string name, double seconds, Range range, std::string meaning);
Key numbers_key(std::string name, Numbers value, Range range, std::string unit, std::string meaning);
/// A list of words, or one of `choices` alone.
Key words_key(std::string name, Words value, Words choices, std::string meaning);
/// A map from pattern to one of `choices` (any text when there are none).
Key map_key(std::string name, Words choices, std::string meaning);
/// A key that came after workloads had been frozen by fingerprints of their keys: it enters those only where it is not
/// at its default, so that a workload that does without it stays the workload it was.
Key outside_prints(Key key);
/// Several tables as one, in their order.
std::vector<Key> join_keys(std::vector<std::vector<Key>> tables);

/// "an integer, at least 1 (steps)": the type with range, unit and choices, for error texts and the reference.
std::string expectation(const Key& key);

/// The type in one or two words.
std::string type_name(KeyType type);

/// Converts what was written into the key's type. Errors (config) name the position, what was expected and what was
/// found.
ConfigValue read_value(const Key& key, const ConfigNode& node);

/// One entry of a map key: checks the option.
std::string read_map_option(const Key& key, const std::string& entry, const ConfigNode& node);

/// The value as YAML on one line; reading it back gives the same value.
std::string value_yaml(const Key& key, const ConfigValue& value);

/// "1536MiB": the largest unit that divides the number, exact.
std::string bytes_yaml(std::int64_t bytes);

/// Parses "1.5GiB", "512 MB" or "4096". Nothing when it is no number of bytes, or below 0, or above 2^62.
std::optional<std::int64_t> parse_bytes(const std::string& text);

/// Parses "90", "90s", "1h30min", "250ms". Nothing when it is no duration.
std::optional<double> parse_duration(const std::string& text);

/// The shortest text that reads back as the same double, always with a point or an exponent.
std::string real_text(double number);

/// The one of `names` nearest to `name` by edit distance (a swap of neighbours counts one), or empty when none is near.
std::string nearest_name(const std::string& name, const Words& names);

}  // namespace reprise
