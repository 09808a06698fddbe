#include "models/config/override_reader.h"

#include <string_view>

namespace reprise {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// A reader by recursive descent over one argument. `offset_` is the byte to be read next; columns are offset + 1.
class OverrideReader {
 public:
  explicit OverrideReader(const OverrideText& argument) : text_(argument.text) {
    constexpr std::size_t kShown = 60;
    std::string shown = text_.size() > kShown ? text_.substr(0, kShown) + "..." : text_;
    source_ = fmt::format("{}{}: {}", kArgumentSource, argument.argument, without_bad_bytes(std::move(shown), '?'));
  }

  Override read() {
    if (static_cast<std::int64_t>(text_.size()) > kLongestOverride) {
      fail_config(here(), "expected at most {} bytes, got {}", kLongestOverride, text_.size());
    }
    for (; offset_ < text_.size(); ++offset_) {
      if (static_cast<unsigned char>(text_[offset_]) < 0x20 && text_[offset_] != '\t') {
        fail_config(here(), "expected printable text, got the byte 0x{:02x}",
                    static_cast<unsigned char>(text_[offset_]));
      }
    }
    // config.yaml of the run is to hold the value, and is read as UTF-8.
    if (std::size_t bad = find_no_utf8(text_); bad != std::string::npos) {
      offset_ = bad;
      fail_config(here(), "expected text in UTF-8, got the byte 0x{:02x}", static_cast<unsigned char>(text_[bad]));
    }
    offset_ = 0;
    Override result;
    read_action(result);
    read_key(result);
    if (offset_ == text_.size()) {
      if (result.action != Override::Action::remove) fail_config(here(), "expected key=value, got no \"=\"");
      return result;
    }
    ++offset_;  // the "=" at which read_key stopped
    result.has_value = true;
    result.value = read_value(0, Place::top);
    skip_blanks();
    if (offset_ != text_.size()) refuse_rest();
    return result;
  }

 private:
  enum class Place { top, in_list, in_map };

  Position here() const { return {source_, 0, static_cast<std::int64_t>(offset_) + 1}; }
  bool at_end() const { return offset_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[offset_]; }
  void skip_blanks() {
    while (!at_end() && is_blank(peek())) ++offset_;
  }

  void read_action(Override& result) {
    if (peek() == '~') {
      result.action = Override::Action::remove;
      ++offset_;
    } else if (peek() == '+') {
      result.action = Override::Action::add;
      ++offset_;
      if (peek() == '+') {
        result.action = Override::Action::set;
        ++offset_;
      }
    }
  }

  void read_key(Override& result) {
    result.position = here();
    std::size_t end = text_.find('=', offset_);
    if (end == std::string::npos) end = text_.size();
    result.key = text_.substr(offset_, end - offset_);
    if (result.key.empty()) fail_config(here(), "expected a key such as train.batch, got nothing");
    for (char c : result.key) {
      if (is_blank(c) || std::string_view("'\"[]{},").find(c) != std::string_view::npos) {
        fail_config(here(), "expected a key such as train.batch, got {}", quoted_for_message(result.key));
      }
    }
    offset_ = end;
  }

  [[noreturn]] void refuse_rest() {
    if (peek() == ',') {
      fail_config(here(),
                  "a list of values to try one after the other is not supported. Write a list as [a,b], a text "
                  "with a comma in quotes");
    }
    fail_config(here(), "expected the end of the value, got {}. Put a text with such characters in quotes",
                quoted_for_message(std::string_view(text_).substr(offset_, 1)));
  }

  ConfigNode read_value(int depth, Place place) {
    skip_blanks();
    if (depth >= kDeepestNesting) fail_config(here(), "nested deeper than {} levels", kDeepestNesting);
    if (peek() == '[') return read_list(depth);
    if (peek() == '{') return read_map(depth);
    if (peek() == '\'' || peek() == '"') return read_quoted();
    return read_bare(place);
  }

  ConfigNode read_list(int depth) {
    ConfigNode node = start(ConfigNode::Kind::list);
    ++offset_;
    skip_blanks();
    while (peek() != ']' || !node.items.empty()) {
      node.items.push_back(read_value(depth + 1, Place::in_list));
      skip_blanks();
      if (peek() == ']') break;
      if (peek() != ',') fail_config(here(), "expected \",\" or \"]\" in a list, got {}", found());
      ++offset_;
    }
    ++offset_;
    return node;
  }

  ConfigNode read_map(int depth) {
    ConfigNode node = start(ConfigNode::Kind::map);
    ++offset_;
    skip_blanks();
    while (peek() != '}' || !node.entries.empty()) {
      skip_blanks();
      Position key_position = here();
      std::string key = peek() == '\'' || peek() == '"' ? read_quoted().text : read_bare_key();
      for (const ConfigNode::Entry& other : node.entries) {
        if (other.key != key) continue;
        fail_config(key_position, "the key {} is given twice. The first is at {}", quoted_for_message(key),
                    other.position.text());
      }
      skip_blanks();
      if (peek() != ':') fail_config(here(), "expected \":\" after a key of a map, got {}", found());
      ++offset_;
      node.entries.push_back({std::move(key), key_position, read_value(depth + 1, Place::in_map)});
      skip_blanks();
      if (peek() == '}') break;
      if (peek() != ',') fail_config(here(), "expected \",\" or \"}}\" in a map, got {}", found());
      ++offset_;
    }
    ++offset_;
    return node;
  }

  std::string read_bare_key() {
    std::size_t begin = offset_;
    while (!at_end() && std::string_view(":,{}[]'\"").find(peek()) == std::string_view::npos) ++offset_;
    std::size_t end = offset_;
    while (end > begin && is_blank(text_[end - 1])) --end;
    if (end == begin) fail_config(here(), "expected a key in a map, got {}", found());
    return text_.substr(begin, end - begin);
  }

  ConfigNode read_quoted() {
    ConfigNode node = start(ConfigNode::Kind::scalar);
    node.quoted = true;
    char quote = peek();
    ++offset_;
    while (!at_end() && peek() != quote) {
      bool escape =
          peek() == '\\' && offset_ + 1 < text_.size() && (text_[offset_ + 1] == quote || text_[offset_ + 1] == '\\');
      if (escape) ++offset_;
      node.text += text_[offset_++];
    }
    if (at_end()) fail_config(node.position, "the quote that opens here is never closed");
    ++offset_;
    return node;
  }

  ConfigNode read_bare(Place place) {
    ConfigNode node = start(ConfigNode::Kind::scalar);
    std::string_view enders = place == Place::in_list ? ",]" : place == Place::in_map ? ",}" : ",";
    std::size_t kept = 0;  // length of the text without the blanks at its end
    while (!at_end() && enders.find(peek()) == std::string_view::npos) {
      char c = peek();
      if (c == '\\' && offset_ + 1 < text_.size() &&
          std::string_view("\\()[]{}:=, \t").find(text_[offset_ + 1]) != std::string_view::npos) {
        node.text += text_[offset_ + 1];
        offset_ += 2;
        kept = node.text.size();
        continue;
      }
      if (std::string_view("()[]{}'\"").find(c) != std::string_view::npos) refuse_rest();
      if (c == '$' && offset_ + 1 < text_.size() && text_[offset_ + 1] == '{') {
        fail_config(here(), "interpolation (${{...}}) is not supported. Write the value out");
      }
      node.text += c;
      ++offset_;
      if (!is_blank(c)) kept = node.text.size();
    }
    node.text.resize(kept);
    if (node.text.empty() && place != Place::top) fail_config(node.position, "expected a value, got {}", found());
    if (node.text == "null" || node.text == "NULL" || node.text == "Null") {
      node.kind = ConfigNode::Kind::null;
      node.text.clear();
    }
    return node;
  }

  ConfigNode start(ConfigNode::Kind kind) const {
    ConfigNode node;
    node.kind = kind;
    node.position = here();
    return node;
  }
  std::string found() const {
    return at_end() ? "the end" : quoted_for_message(std::string_view(text_).substr(offset_, 1));
  }

  std::string text_;
  std::string source_;
  std::size_t offset_ = 0;
};

}  // namespace

std::vector<OverrideText> number_overrides(const std::vector<std::string>& texts, int first) {
  std::vector<OverrideText> numbered;
  for (const std::string& text : texts) numbered.push_back({text, first++});
  return numbered;
}

Override read_override(const OverrideText& argument) { return OverrideReader(argument).read(); }

}  // namespace reprise
