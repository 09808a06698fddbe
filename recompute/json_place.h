// JsonPlace: one place in a document that this room wrote and reads back (contracts, plans, profiles), with its path,
// so that every refusal says where. Files may come from anybody: keys, types and ranges are checked before they are
// believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "recompute/json_parse.h"

namespace reprise {

class JsonPlace {
 public:
  using Json = nlohmann::ordered_json;

  /// `who` heads the errors: "[contract]"; `source` is the file's name.
  JsonPlace(const Json& json, const char* who, std::string source, std::string path = "")
      : json_(json), who_(who), source_(std::move(source)), path_(std::move(path)) {}

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::user, "[{}] {}{}{}: {}", who_, source_, path_.empty() ? "" : ", ", path_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  bool is_object() const { return json_.is_object(); }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  /// What stands under a key of an object. Errors (user), as of all below: it is not there, or not what is asked for.
  JsonPlace at(const char* key) const;
  /// The object under a key, whatever keys it has.
  JsonPlace object_at(const char* key) const;
  /// An object of no keys but these.
  const JsonPlace& object(const std::set<std::string>& keys) const;
  std::string text() const;
  std::string one_of(std::initializer_list<const char*> words) const;
  bool flag() const;
  /// From 0 to 2^64 - 1, and to 2^63 - 1.
  std::uint64_t natural() const;
  std::int64_t count() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double real(double least, double most) const;
  /// What `read` makes of each item of a list of at most `most`.
  template <class Read>
  auto list(Read&& read, std::size_t most = SIZE_MAX) const {
    if (!json_.is_array()) refuse("expected a list, got {}", json_.type_name());
    if (json_.size() > most) refuse("expected at most {} items, got {}", most, json_.size());
    std::vector<decltype(read(*this))> out;
    out.reserve(json_.size());
    for (std::size_t i = 0; i < json_.size(); ++i) {
      out.push_back(read(JsonPlace(json_[i], who_, source_, path_ + "[" + std::to_string(i) + "]")));
    }
    return out;
  }
  std::vector<std::string> texts() const;
  /// The keys of an object with their texts, in the order written.
  std::vector<std::pair<std::string, std::string>> pairs() const;

 private:
  const Json& json_;
  const char* who_;
  std::string source_, path_;
};

/// Parses the text of a document of `format`. Errors (user): no JSON, nested deeply, a key twice, another format;
/// `made_by` is the verb that writes such documents.
nlohmann::ordered_json parse_document(const std::string& text, const char* who, const std::string& source,
                                      const char* format, const char* made_by);

}  // namespace reprise
