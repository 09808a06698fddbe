#include "tools/chart/text.h"

#include <algorithm>
#include <cstdint>

namespace reprise::chart {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// Takes one character off the front. What is no UTF-8 is taken byte by byte.
char32_t take(std::string_view& text) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::uint8_t lead = byte(0);
  std::size_t length = lead < 0x80                   ? 1
                       : lead >= 0xC2 && lead < 0xE0 ? 2
                       : lead >= 0xE0 && lead < 0xF0 ? 3
                       : lead >= 0xF0 && lead < 0xF5 ? 4
                                                     : 0;
  char32_t value = length == 1 ? lead : length == 0 ? kReplacement : lead & (0x7F >> length);
  bool good = length > 0 && length <= text.size();
  for (std::size_t i = 1; good && i < length; ++i) {
    good = (byte(i) & 0xC0) == 0x80;
    value = value << 6 | (byte(i) & 0x3F);
  }
  good = good && !(length == 3 && value < 0x800) && !(length == 4 && (value < 0x10000 || value > 0x10FFFF));
  text.remove_prefix(good ? length : 1);
  return good ? value : kReplacement;
}

bool xml_has(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return !(c >= 0xD800 && c < 0xE000) && c != 0xFFFE && c != 0xFFFF && !(c >= 0x7F && c < 0xA0);
}

void put(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out += static_cast<char>((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | (c >> (6 * more)));
  while (more-- > 0) out += static_cast<char>(0x80 | ((c >> (6 * more)) & 0x3F));
}

/// Of a font size of 1, after DejaVu Sans, which is wide among the fonts a browser may choose.
double width_of(char32_t c) {
  constexpr std::string_view kNarrow = " .,:;'!|()[]iIjlftr-/";
  constexpr std::string_view kWide = "mwMWOQGDHNU%@+=<>_&";
  if (c >= 0x2E80) return 1.0;  // ideographs and emoji
  if (c >= 0x80) return c == 0xB7 || (c >= 0x2000 && c < 0x200B) ? 0.35 : 0.7;
  char ascii = static_cast<char>(c);
  if (kNarrow.find(ascii) != std::string_view::npos) return 0.38;
  if (kWide.find(ascii) != std::string_view::npos)
    return ascii == 'm' || ascii == 'W' || ascii == 'M' || ascii == '%' || ascii == '@' ? 0.97 : 0.82;
  return ascii >= 'A' && ascii <= 'Z' ? 0.68 : 0.62;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::size_t begin = text.find_first_not_of(" \n\t\r");
    if (begin == std::string_view::npos) break;
    std::size_t end = std::min(text.find_first_of(" \n\t\r", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  return words;
}

/// The bytes of the longest beginning that fits, one character at least.
std::size_t fitting(std::string_view text, double size, double width) {
  std::string_view rest = text;
  double used = 0;
  while (!rest.empty()) {
    std::string_view before = rest;
    used += width_of(take(rest)) * size;
    if (used > width && before.size() < text.size()) return text.size() - before.size();
  }
  return text.size();
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  while (!text.empty()) width += width_of(take(text));
  return width * size;
}

double widest_text(const std::vector<std::string>& texts, double size) {
  double width = 0;
  for (const std::string& text : texts) width = std::max(width, text_width(text, size));
  return width;
}

std::vector<std::string> wrap_text(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  for (std::string_view word : words_of(text)) {
    if (!lines.empty() && text_width(lines.back() + " ", size) + text_width(word, size) <= width) {
      lines.back().append(" ").append(word);
      continue;
    }
    while (!word.empty()) {
      std::size_t length = fitting(word, size, width);
      lines.emplace_back(word.substr(0, length));
      word.remove_prefix(length);
    }
  }
  return lines;
}

std::string shorten_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  constexpr std::string_view kEllipsis = "…";
  double room = std::max(0.0, width - text_width(kEllipsis, size));
  std::size_t head = fitting(text, size, room / 2);
  std::string_view tail = text.substr(head);
  while (!tail.empty() && text_width(tail, size) > room / 2) take(tail);
  return std::string(text.substr(0, head)).append(kEllipsis).append(tail);
}

std::string escape_xml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    char32_t c = take(text);
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: put(out, xml_has(c) ? c : kReplacement);
    }
  }
  return out;
}

}  // namespace reprise::chart
