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

}  // namespace reprise
