// How long text is and where it breaks, without a font at hand; and text as XML. Used by the layout of charts.
//
// Lengths are estimates for common sans-serif fonts, rather too long than too short: what has room by them has room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::chart {

/// In pixels at a font size in pixels.
double text_width(std::string_view text, double size);

/// The width of the longest; 0 for none.
double widest_text(const std::vector<std::string>& texts, double size);

/// Lines of at most `width` pixels, broken at blanks and, where a word is longer than that, within it. Empty text has
/// no lines.
std::vector<std::string> wrap_text(std::string_view text, double size, double width);

/// The text, or its beginning and end with an ellipsis between them where it is longer than `width` pixels.
std::string shorten_text(std::string_view text, double size, double width);

/// For element content and attributes. Bytes that are no UTF-8, and characters that XML 1.0 has no place for, become
/// U+FFFD.
std::string escape_xml(std::string_view text);

}  // namespace reprise::chart
