#include "tools/conform/json_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "recompute/json_parse.h"

namespace reprise::conform {
namespace {

/// Whether a number is whole that was written with a point or an exponent: 7.0, 1e3.
bool is_whole_float(const Json& json) {
  return json.is_number_float() && json.get<double>() == std::floor(json.get<double>());
}

}  // namespace

Json parse_json(const std::string& text, const std::string& file) {
  return reprise::parse_json<Json>(text, "conform", file, "a program as JSON", kMaxJsonDepth);
}

void JsonCursor::refuse_text(const std::string& text) const {
  fail(ErrorKind::user, "[conform] {} at {}: {}", *file_, path(), text);
}

JsonCursor JsonCursor::child(const Json& json, const std::string& name) const {
  JsonCursor cursor(json, *file_);
  cursor.path_ = path_ + "/" + name;
  return cursor;
}

void JsonCursor::require_keys(const std::vector<std::string>& known) const {
  if (!json_->is_object()) refuse("expected an object, got {}", json_->type_name());
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    refuse("unknown key '{}'. Known here: {}", key, fmt::join(known, ", "));
  }
}

bool JsonCursor::has(const std::string& key) const { return json_->is_object() && json_->contains(key); }

JsonCursor JsonCursor::at(const std::string& key) const {
  if (!json_->is_object()) refuse("expected an object, got {}", json_->type_name());
  auto found = json_->find(key);
  if (found == json_->end()) refuse("expected the key '{}', got none", key);
  return child(*found, key);
}

std::vector<JsonCursor> JsonCursor::items() const {
  if (!json_->is_array()) refuse("expected a list, got {}", json_->type_name());
  std::vector<JsonCursor> list;
  for (const Json& item : *json_) list.push_back(child(item, std::to_string(list.size())));
  return list;
}

std::vector<std::pair<std::string, JsonCursor>> JsonCursor::members() const {
  if (!json_->is_object()) refuse("expected an object, got {}", json_->type_name());
  std::vector<std::pair<std::string, JsonCursor>> list;
  for (const auto& [key, value] : json_->items()) {
    if (key.empty()) refuse("expected names that are not empty");
    list.emplace_back(key, child(value, key));
  }
  return list;
}

std::string JsonCursor::text() const {
  if (!json_->is_string() || json_->get_ref<const std::string&>().empty()) {
    refuse("expected a text that is not empty, got {}", json_->type_name());
  }
  return json_->get<std::string>();
}

double JsonCursor::number() const {
  if (!json_->is_number()) refuse("expected a number, got {}", json_->type_name());
  return json_->get<double>();
}

std::int64_t JsonCursor::integer(std::int64_t lo, std::int64_t hi) const {
  std::int64_t value = 0;
  if (json_->is_number_unsigned() && json_->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX)) {
    value = static_cast<std::int64_t>(json_->get<std::uint64_t>());
  } else if (json_->is_number_integer() && !json_->is_number_unsigned()) {
    value = json_->get<std::int64_t>();
  } else if (is_whole_float(*json_) && std::fabs(json_->get<double>()) < 0x1p63) {
    value = static_cast<std::int64_t>(json_->get<double>());
  } else {
    refuse("expected a whole number, got {}", json_->is_number() ? json_->dump() : json_->type_name());
  }
  if (value < lo || value > hi) refuse("expected a whole number from {} to {}, got {}", lo, hi, value);
  return value;
}

std::uint64_t JsonCursor::unsigned_integer() const {
  if (json_->is_number_unsigned()) return json_->get<std::uint64_t>();
  if (!is_whole_float(*json_) || json_->get<double>() < 0 || json_->get<double>() >= 0x1p64)
    refuse("expected a whole number from 0 to 2^64-1, got {}", json_->dump());
  return static_cast<std::uint64_t>(json_->get<double>());
}

bool JsonCursor::flag() const {
  if (!json_->is_boolean()) refuse("expected true or false, got {}", json_->type_name());
  return json_->get<bool>();
}

std::vector<std::int64_t> JsonCursor::integers() const {
  std::vector<std::int64_t> list;
  for (const JsonCursor& item : items()) list.push_back(item.integer(INT64_MIN, INT64_MAX));
  return list;
}

std::vector<std::string> JsonCursor::texts() const {
  std::vector<std::string> list;
  for (const JsonCursor& item : items()) list.push_back(item.text());
  return list;
}

Shape JsonCursor::shape() const {
  std::vector<JsonCursor> list = items();
  if (list.size() > static_cast<std::size_t>(kMaxRank))
    refuse("expected at most {} axes, got {}", kMaxRank, list.size());
  Shape shape;
  std::int64_t count = 1;
  for (const JsonCursor& item : list) {
    std::int64_t extent = item.integer(0, kMaxElements);
    count *= extent;  // at most 2^48
    if (count > kMaxElements) refuse("expected at most {} elements", kMaxElements);
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace reprise::conform
