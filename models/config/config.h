// The resolved configuration of a run: every key has a value, and every value knows where it came from.
//
// load_config() is the only way in: defaults, then a YAML file, then key=value arguments. The program, the trainer and
// tests read it through typed getters; asking for a key under the wrong type is an internal error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/config/override_reader.h"
#include "models/config/schema.h"

namespace reprise {

class Config {
 public:
  std::int64_t get_int(const std::string& key) const { return get<std::int64_t>(key); }
  double get_real(const std::string& key) const { return get<double>(key); }
  bool get_bool(const std::string& key) const { return get<bool>(key); }
  /// Texts and choices.
  const std::string& get_string(const std::string& key) const { return get<std::string>(key); }
  Bytes get_bytes(const std::string& key) const { return get<Bytes>(key); }
  /// Durations.
  double get_seconds(const std::string& key) const { return get<double>(key); }
  const Words& get_list(const std::string& key) const { return get<Words>(key); }
  const Numbers& get_numbers(const std::string& key) const { return get<Numbers>(key); }
  const WordMap& get_map(const std::string& key) const { return get<WordMap>(key); }

  /// Whether this run's model.type has the key.
  bool has(const std::string& key) const { return keys_.find(key) != nullptr; }
  /// Where the file or the command line set it; not known() for a default.
  const Position& position(const std::string& key) const;
  /// Of one entry of a map key.
  Position entry_position(const std::string& key, const std::string& entry) const;

  /// An error (config) about the value of a key, for checks that only the run can make: `throw config.error_at(...)`.
  template <class... Args>
  Error error_at(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    return located(key, position(key), fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  Error error_at_entry(const std::string& key, const std::string& entry, fmt::format_string<Args...> format,
                       Args&&... args) const {
    return located(key, entry_position(key, entry), fmt::format(format, std::forward<Args>(args)...));
  }

  /// Replaces a value; `why` stands where a position would ("run folder"). Errors (internal) on another type.
  void set(const std::string& key, ConfigValue value, const std::string& why);

  const KeySet& keys() const { return keys_; }
  /// What the run's model measures while it trains; see ModelType.
  const std::vector<Metric>& measures() const { return measures_; }
  const ConfigValue& value(const std::string& key) const;
  /// The file the configuration was read from; empty without one.
  const std::string& file() const { return file_; }
  /// The file's name without folder and ending, or "run". It names the run's folder too, so that a byte that no
  /// configuration could hold (a line end, no UTF-8) is an underscore.
  std::string name() const;

  /// All keys as YAML in the order of their declaration. Loads back to the same values. With `sources`, each line ends
  /// in a comment that says where the value came from.
  std::string to_yaml(bool sources = false) const;

 private:
  friend class ConfigLoader;
  struct Setting {
    ConfigValue value;
    Position position;
    std::map<std::string, Position> entries;
  };

  template <class T>
  const T& get(const std::string& key) const {
    const T* typed = std::get_if<T>(&value(key));
    if (typed == nullptr)
      fail(ErrorKind::internal, "[config] expected {} to be read as what it is, got another type", key);
    return *typed;
  }
  const Setting& setting(const std::string& key) const;
  Error located(const std::string& key, const Position& position, const std::string& message) const;

  KeySet keys_;
  std::vector<Metric> measures_;
  std::map<std::string, Setting> settings_;
  std::string file_;
};

/// Reads defaults, then the file (none when empty), then the overrides in order. Errors: config with a position; user
/// or io when the file cannot be read.
Config load_config(const std::string& file, const std::vector<std::string>& overrides = {},
                   const Schema& schema = standard_schema());

/// The same with overrides that know their number on the command line.
Config load_numbered_config(const std::string& file, const std::vector<OverrideText>& overrides,
                            const Schema& schema = standard_schema());

/// The same from text; `source` is its name in positions.
Config parse_config(const std::string& text, const std::string& source, const std::vector<std::string>& overrides = {},
                    const Schema& schema = standard_schema());

}  // namespace reprise
