#include "models/config/key.h"

#include <algorithm>
#include <cmath>

namespace reprise {
namespace {

std::string bound_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15)
    return fmt::format("{}", static_cast<std::int64_t>(number));
  return fmt::format("{}", number);
}

Key make_key(std::string name, KeyType type, ConfigValue value, std::string meaning) {
  Key key;
  key.name = std::move(name);
  key.type = type;
  key.default_value = std::move(value);
  key.meaning = std::move(meaning);
  return key;
}

/// The optimal string alignment distance (Damerau, 1964): insertions, deletions, substitutions, swaps of neighbours.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      int cost = a[i - 1] == b[j - 1] ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

}  // namespace

bool Range::holds(double number) const {
  if (!std::isfinite(number)) return false;
  if (low_open ? number <= low : number < low) return false;
  return high_open ? number < high : number <= high;
}

std::string Range::text() const {
  Range all;
  bool has_low = low != all.low;
  bool has_high = high != all.high;
  if (has_low && has_high && !low_open && !high_open)
    return fmt::format("from {} to {}", bound_text(low), bound_text(high));
  std::string out;
  if (has_low) out = fmt::format("{} {}", low_open ? "above" : "at least", bound_text(low));
  if (has_high) out += fmt::format("{}{} {}", has_low ? ", " : "", high_open ? "below" : "at most", bound_text(high));
  return out;
}

Key integer_key(std::string name, std::int64_t value, Range range, std::string unit, std::string meaning) {
  Key key = make_key(std::move(name), KeyType::integer, value, std::move(meaning));
  key.range = range;
  key.unit = std::move(unit);
  return key;
}

Key real_key(std::string name, double value, Range range, std::string unit, std::string meaning) {
  Key key = make_key(std::move(name), KeyType::real, value, std::move(meaning));
  key.range = range;
  key.unit = std::move(unit);
  return key;
}

Key boolean_key(std::string name, bool value, std::string meaning) {
  return make_key(std::move(name), KeyType::boolean, value, std::move(meaning));
}

Key text_key(std::string name, std::string value, std::string meaning) {
  return make_key(std::move(name), KeyType::text, std::move(value), std::move(meaning));
}

Key choice_key(std::string name, std::string value, Words choices, std::string meaning) {
  Key key = make_key(std::move(name), KeyType::choice, std::move(value), std::move(meaning));
  key.choices = std::move(choices);
  return key;
}

Key bytes_key(std::string name, Bytes value, std::string meaning) {
  Key key = make_key(std::move(name), KeyType::bytes, value, std::move(meaning));
  key.unit = "bytes";
  return key;
}

Key duration_key(std::string name, double seconds, Range range, std::string meaning) {
  Key key = make_key(std::move(name), KeyType::duration, seconds, std::move(meaning));
  key.range = range;
  key.unit = "seconds";
  return key;
}

Key numbers_key(std::string name, Numbers value, Range range, std::string unit, std::string meaning) {
  Key key = make_key(std::move(name), KeyType::numbers, std::move(value), std::move(meaning));
  key.range = range;
  key.unit = std::move(unit);
  return key;
}

Key words_key(std::string name, Words value, Words choices, std::string meaning) {
  Key key = make_key(std::move(name), KeyType::words, std::move(value), std::move(meaning));
  key.choices = std::move(choices);
  return key;
}

Key map_key(std::string name, Words choices, std::string meaning) {
  Key key = make_key(std::move(name), KeyType::map, WordMap{}, std::move(meaning));
  key.choices = std::move(choices);
  return key;
}

Key outside_prints(Key key) {
  key.outside_prints = true;
  return key;
}

std::vector<Key> join_keys(std::vector<std::vector<Key>> tables) {
  std::vector<Key> all;
  for (std::vector<Key>& table : tables) {
    for (Key& key : table) all.push_back(std::move(key));
  }
  return all;
}

std::string type_name(KeyType type) {
  switch (type) {
    case KeyType::integer: return "integer";
    case KeyType::real: return "real";
    case KeyType::boolean: return "bool";
    case KeyType::text: return "text";
    case KeyType::choice: return "choice";
    case KeyType::bytes: return "bytes";
    case KeyType::duration: return "duration";
    case KeyType::words: return "list of words";
    case KeyType::numbers: return "list of numbers";
    case KeyType::map: return "map";
  }
  return "unknown";
}

std::string nearest_name(const std::string& name, const Words& names) {
  constexpr std::size_t kLongest = 100;  // a hostile name must not buy a long search
  std::string_view sought = std::string_view(name).substr(0, kLongest);
  std::size_t sought_dot = sought.rfind('.');
  std::string_view sought_last = sought_dot == std::string_view::npos ? sought : sought.substr(sought_dot + 1);
  int best = 1 << 20, best_letters = 1 << 20;
  std::string nearest;
  for (const std::string& candidate : names) {
    int letters = edit_distance(sought, candidate), distance = letters;
    std::size_t dot = candidate.rfind('.');
    // The right last word in the wrong section is nearer than its letters say.
    if (dot != std::string::npos) {
      distance = std::min(distance, 1 + 2 * edit_distance(sought_last, std::string_view(candidate).substr(dot + 1)));
    }
    if (distance < best || (distance == best && letters < best_letters)) {
      best = distance;
      best_letters = letters;
      nearest = candidate;
    }
  }
  int allowed = std::max<int>(2, static_cast<int>(sought.size()) / 2);
  return best <= allowed ? nearest : "";
}

}  // namespace reprise
