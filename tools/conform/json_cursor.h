// JsonCursor: one place in a JSON document, with its path, so that every refusal says where. Used to read conformance
// programs, whose files may come from anybody: sizes, depth, types and ranges are checked before they are believed.
// Places are JSON pointers and whole numbers may be written as 2.0, as the format of programs has it; what this project
// itself writes is read by the stricter JsonPlace (recompute/json_place.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/shape.h"

namespace reprise::conform {

using Json = nlohmann::json;

constexpr int kMaxJsonDepth = 200;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 24;  // of one tensor of a program

/// Parses `text`. `file` names it in errors. Errors (user): not JSON, nested too deep, a key that comes twice.
Json parse_json(const std::string& text, const std::string& file);

class JsonCursor {
 public:
  JsonCursor(const Json& json, const std::string& file) : json_(&json), file_(&file) {}

  const Json& json() const { return *json_; }
  /// A JSON pointer, "/" for the whole document.
  std::string path() const { return path_.empty() ? "/" : path_; }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    refuse_text(fmt::format(format, std::forward<Args>(args)...));
  }

  /// An object whose keys are all among `known`. Errors (user): another key.
  void require_keys(const std::vector<std::string>& known) const;
  bool has(const std::string& key) const;
  /// Errors (user): not an object, no such key.
  JsonCursor at(const std::string& key) const;
  std::vector<JsonCursor> items() const;
  std::vector<std::pair<std::string, JsonCursor>> members() const;

  /// Text that is not empty.
  std::string text() const;
  double number() const;
  std::int64_t integer(std::int64_t lo, std::int64_t hi) const;
  std::uint64_t unsigned_integer() const;
  bool flag() const;
  std::vector<std::int64_t> integers() const;
  std::vector<std::string> texts() const;
  /// Extents of at least 0, at most kMaxRank of them and kMaxElements in all.
  Shape shape() const;

 private:
  [[noreturn]] void refuse_text(const std::string& text) const;
  JsonCursor child(const Json& json, const std::string& name) const;

  const Json* json_;
  const std::string* file_;
  std::string path_;
};

}  // namespace reprise::conform
