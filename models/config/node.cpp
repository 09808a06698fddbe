#include "models/config/node.h"

namespace reprise {

std::string Position::text() const {
  if (!known()) return "default";
  if (line == 0 && column == 0) return source;  // no place in a text: "--plan"
  if (line == 0) return fmt::format("{}:{}", source, column);
  return fmt::format("{}:{}:{}", source, line, column);
}

std::string describe(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::null: return "nothing";
    case ConfigNode::Kind::list: return "a list";
    case ConfigNode::Kind::map: return "a map";
    case ConfigNode::Kind::scalar: break;
  }
  return (node.quoted ? "the quoted text " : "") + quoted_for_message(node.text);
}

std::string quoted_for_message(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == kLongest) return out + "...\"";
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += text[i];
    }
  }
  return out + "\"";
}

std::size_t find_no_utf8(std::string_view text) {
  auto byte_at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  for (std::size_t i = 0; i < text.size();) {
    unsigned first = byte_at(i), second = byte_at(i + 1);
    std::size_t length = first < 0x80                     ? 1
                         : first >= 0xc2 && first <= 0xdf ? 2
                         : first >= 0xe0 && first <= 0xef ? 3
                         : first >= 0xf0 && first <= 0xf4 ? 4
                                                          : 0;
    // Longer than need be, half of a surrogate pair, or beyond the last character.
    bool bad = length == 0 || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
               (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    for (std::size_t k = 1; k < length; ++k) bad = bad || (byte_at(i + k) & 0xc0) != 0x80;
    if (bad) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string without_bad_bytes(std::string text, char instead) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = instead;
  }
  for (std::size_t at = 0, bad; (bad = find_no_utf8(std::string_view(text).substr(at))) != std::string_view::npos;) {
    text[at + bad] = instead;
    at += bad + 1;
  }
  return text;
}

}  // namespace reprise
