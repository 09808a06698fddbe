// Text to value and back, by the type of the key.
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "models/config/key.h"

namespace reprise {
namespace {

struct TextUnit {
  const char* name;
  double factor;
};

constexpr TextUnit kByteUnits[] = {
    {"kb", 1e3},     {"mb", 1e6},        {"gb", 1e9},           {"tb", 1e12},
    {"kib", 1024.0}, {"mib", 1048576.0}, {"gib", 1073741824.0}, {"tib", 1099511627776.0}};
constexpr TextUnit kTimeUnits[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Plain decimal text with a finite value; no blanks, no hexadecimal, no "inf".
std::optional<double> parse_real(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return std::nullopt;
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// Decimal digits with an optional sign; an underscore may stand between digits.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool between = i > 0 && i + 1 < text.size() && text[i - 1] != '_' && text[i - 1] != '-' && text[i - 1] != '+';
    if (text[i] == '_' && between) continue;
    if (i == 0 && text[i] == '+' && text.size() > 1 && text[1] != '-') continue;
    digits += text[i];
  }
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return number;
}

std::optional<bool> parse_boolean(const std::string& text) {
  std::string word = lower(text);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

[[noreturn]] void refuse(const Key& key, const ConfigNode& node, const std::string& hint = "") {
  fail_config(node.position, "{} expects {}, got {}{}{}", key.name, expectation(key), describe(node),
              hint.empty() ? "" : ". ", hint);
}

const std::string& plain_scalar(const Key& key, const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::scalar) refuse(key, node);
  if (node.quoted) refuse(key, node, "Leave out the quotes");
  return node.text;
}

void require_printable(const Key& key, const ConfigNode& node) {
  for (char c : node.text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) refuse(key, node, "Control characters are not accepted");
  }
}

std::string choice_of(const Key& key, const ConfigNode& node, const Words& choices) {
  if (node.kind != ConfigNode::Kind::scalar) refuse(key, node);
  std::string word = node.text;
  // Programs that write YAML 1.1 turn a plain `off` into false and `on` into true.
  bool is_switch = choices.size() == 2 && choices[0] == "off" && choices[1] == "on";
  if (is_switch && !node.quoted) {
    if (auto flag = parse_boolean(word)) word = *flag ? "on" : "off";
  }
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) return word;
  std::string nearest = nearest_name(word, choices);
  refuse(key, node, nearest.empty() ? "" : "Nearest is " + nearest);
}

Words words_of(const Key& key, const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::null) return {};
  if (node.kind == ConfigNode::Kind::scalar) {
    require_printable(key, node);
    if (key.choices.empty()) return {node.text};
    return {choice_of(key, node, key.choices)};
  }
  if (node.kind != ConfigNode::Kind::list) refuse(key, node);
  Words words;
  for (const ConfigNode& item : node.items) {
    if (item.kind != ConfigNode::Kind::scalar || item.text.empty()) refuse(key, item);
    require_printable(key, item);
    words.push_back(item.text);
  }
  return words;
}

Numbers numbers_of(const Key& key, const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::null) return {};
  if (node.kind != ConfigNode::Kind::list) refuse(key, node, "Write it as [a, b]");
  Numbers numbers;
  for (const ConfigNode& item : node.items) {
    auto number = parse_real(plain_scalar(key, item));
    if (!number || !key.range.holds(*number)) refuse(key, item);
    numbers.push_back(*number);
  }
  return numbers;
}

WordMap map_of(const Key& key, const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::null) return {};
  if (node.kind != ConfigNode::Kind::map) refuse(key, node);
  WordMap map;
  for (const ConfigNode::Entry& entry : node.entries)
    map.emplace_back(entry.key, read_map_option(key, entry.key, entry.value));
  return map;
}

/// Whether a reader of YAML (1.1 or 1.2) takes the bare word as the same text, inside a list or map too.
bool safe_bare(const std::string& text) {
  if (text.empty() || parse_real(text) || parse_boolean(text) || parse_integer(text)) return false;
  std::string word = lower(text);
  if (word == "null" || word == "none" || word == "y" || word == "n" || word == ".inf" || word == ".nan") return false;
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/'; };
  if (!letter(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+'; });
}

std::string text_yaml(const std::string& text) {
  if (safe_bare(text)) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::optional<std::int64_t> parse_bytes(const std::string& text) {
  std::size_t split = text.find_first_not_of("0123456789._");
  std::string number = text.substr(0, split);
  std::string unit = split == std::string::npos ? "b" : text.substr(split);
  unit.erase(0, unit.find_first_not_of(' '));
  if (lower(unit) == "b") {
    auto whole = parse_integer(number);
    return whole && *whole >= 0 && *whole <= (1LL << 62) ? whole : std::nullopt;
  }
  auto real = parse_real(number);
  if (!real) return std::nullopt;
  for (const TextUnit& candidate : kByteUnits) {
    if (lower(unit) != candidate.name) continue;
    double bytes = *real * candidate.factor;
    if (!(bytes >= 0) || bytes > 4.6e18) return std::nullopt;
    return static_cast<std::int64_t>(std::floor(bytes));
  }
  return std::nullopt;
}

std::optional<double> parse_duration(const std::string& text) {
  if (auto seconds = parse_real(text)) return *seconds < 0 ? std::nullopt : seconds;
  double total = 0;
  std::string rest = text;
  while (!rest.empty()) {
    std::size_t digits = rest.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string::npos) return std::nullopt;
    std::size_t next = rest.find_first_of("0123456789", digits);
    auto number = parse_real(rest.substr(0, digits));
    std::string name = rest.substr(digits, next == std::string::npos ? next : next - digits);
    const TextUnit* unit =
        std::find_if(std::begin(kTimeUnits), std::end(kTimeUnits), [&](const TextUnit& u) { return name == u.name; });
    if (!number || unit == std::end(kTimeUnits)) return std::nullopt;
    total += *number * unit->factor;
    rest = next == std::string::npos ? "" : rest.substr(next);
  }
  if (text.empty() || !std::isfinite(total)) return std::nullopt;
  return total;
}

std::string bytes_yaml(std::int64_t bytes) {
  constexpr std::pair<const char*, std::int64_t> kUnits[] = {
      {"TiB", 1LL << 40}, {"GiB", 1LL << 30}, {"MiB", 1LL << 20}, {"KiB", 1LL << 10}};
  for (auto [name, size] : kUnits) {
    if (bytes != 0 && bytes % size == 0) return fmt::format("{}{}", bytes / size, name);
  }
  return fmt::format("{}", bytes);
}

std::string real_text(double number) {
  std::string text = fmt::format("{}", number);
  std::size_t exponent = text.find('e');
  if (text.find('.') == std::string::npos) text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  return text;
}

std::string expectation(const Key& key) {
  std::string range = key.range.text();
  std::string unit = key.unit.empty() ? "" : " (" + key.unit + ")";
  std::string ranged = (range.empty() ? "" : ", " + range) + unit;
  switch (key.type) {
    case KeyType::integer: return "an integer" + ranged;
    case KeyType::real: return "a number" + ranged;
    case KeyType::boolean: return "true or false";
    case KeyType::text: return "a text";
    case KeyType::choice: return fmt::format("one of {}", fmt::join(key.choices, ", "));
    case KeyType::bytes: return "a number of bytes such as 1.5GiB, 512MB or 4096, or none";
    case KeyType::duration:
      return "a duration such as 90s, 5min or 1h30min" + (range.empty() ? "" : ", " + range + " seconds");
    case KeyType::words:
      return key.choices.empty() ? "a list of words"
                                 : fmt::format("one of {}, or a list of names", fmt::join(key.choices, ", "));
    case KeyType::numbers: return "a list of numbers" + (range.empty() ? "" : ", each " + range) + unit;
    case KeyType::map:
      return "a map" +
             (key.choices.empty() ? "" : fmt::format(" whose values are one of {}", fmt::join(key.choices, ", ")));
  }
  return "a value";
}

std::string read_map_option(const Key& key, const std::string& entry, const ConfigNode& node) {
  if (entry.empty()) refuse(key, node, "Each entry has a name");
  ConfigNode named;
  named.text = entry;
  named.position = node.position;
  require_printable(key, named);
  if (!key.choices.empty()) return choice_of(key, node, key.choices);
  if (node.kind != ConfigNode::Kind::scalar) refuse(key, node);
  require_printable(key, node);
  return node.text;
}

ConfigValue read_value(const Key& key, const ConfigNode& node) {
  switch (key.type) {
    case KeyType::integer: {
      auto number = parse_integer(plain_scalar(key, node));
      if (!number || !key.range.holds(static_cast<double>(*number))) refuse(key, node);
      return *number;
    }
    case KeyType::real: {
      auto number = parse_real(plain_scalar(key, node));
      if (!number || !key.range.holds(*number)) refuse(key, node);
      return *number;
    }
    case KeyType::boolean: {
      auto flag = parse_boolean(plain_scalar(key, node));
      if (!flag) refuse(key, node);
      return *flag;
    }
    case KeyType::text:
      if (node.kind == ConfigNode::Kind::null) return std::string();
      if (node.kind != ConfigNode::Kind::scalar) refuse(key, node);
      require_printable(key, node);
      return node.text;
    case KeyType::choice: return choice_of(key, node, key.choices);
    case KeyType::bytes: {
      if (node.kind == ConfigNode::Kind::null || (node.kind == ConfigNode::Kind::scalar && node.text == "none"))
        return Bytes();
      if (node.kind != ConfigNode::Kind::scalar) refuse(key, node);
      Bytes bytes = parse_bytes(node.text);
      if (!bytes) refuse(key, node);
      return bytes;
    }
    case KeyType::duration: {
      if (node.kind != ConfigNode::Kind::scalar) refuse(key, node);
      auto seconds = parse_duration(node.text);
      if (!seconds || !key.range.holds(*seconds)) refuse(key, node);
      return *seconds;
    }
    case KeyType::words: return words_of(key, node);
    case KeyType::numbers: return numbers_of(key, node);
    case KeyType::map: return map_of(key, node);
  }
  fail(ErrorKind::internal, "[config] expected a type of the key {}, got {}", key.name, static_cast<int>(key.type));
}

std::string value_yaml(const Key& key, const ConfigValue& value) {
  switch (key.type) {
    case KeyType::integer: return fmt::format("{}", std::get<std::int64_t>(value));
    case KeyType::real: return real_text(std::get<double>(value));
    case KeyType::boolean: return std::get<bool>(value) ? "true" : "false";
    case KeyType::text:
    case KeyType::choice: return text_yaml(std::get<std::string>(value));
    case KeyType::bytes: {
      const Bytes& bytes = std::get<Bytes>(value);
      return bytes ? bytes_yaml(*bytes) : "none";
    }
    case KeyType::duration: {
      std::string seconds = fmt::format("{}", std::get<double>(value));
      return seconds.find('e') == std::string::npos ? seconds + "s" : seconds;  // no unit follows an exponent
    }
    case KeyType::words: {
      Words words = std::get<Words>(value);
      bool alone =
          words.size() == 1 && std::find(key.choices.begin(), key.choices.end(), words[0]) != key.choices.end();
      for (std::string& word : words) word = text_yaml(word);
      // "none" is one of the choices of a key, and no YAML reader takes it for anything but text.
      if (alone) return words[0] == "\"none\"" ? "none" : words[0];
      return fmt::format("[{}]", fmt::join(words, ", "));
    }
    case KeyType::numbers: {
      Words texts;
      for (double number : std::get<Numbers>(value)) {
        bool whole = number == std::floor(number) && std::abs(number) < 1e15;
        texts.push_back(whole ? fmt::format("{}", static_cast<std::int64_t>(number)) : real_text(number));
      }
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    case KeyType::map: {
      Words texts;
      for (const auto& [name, option] : std::get<WordMap>(value))
        texts.push_back(text_yaml(name) + ": " + text_yaml(option));
      return fmt::format("{{{}}}", fmt::join(texts, ", "));
    }
  }
  return "";
}

}  // namespace reprise
