// A document as Markdown, with its pictures as files beside it.
#include <fmt/core.h>

#include <algorithm>

#include "tools/report/document.h"

namespace reprise::report {
namespace {

/// Text that reads as it is: nothing in it is taken for Markdown or HTML, and it is on one line.
std::string plain(const std::string& text) {
  constexpr std::string_view kMarks = "\\`*<|[]#~";
  std::string out;
  for (char c : text) {
    if (c == '\n' || c == '\r') c = ' ';
    if (kMarks.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// The longest run of backticks in `text`, so that a fence can be longer.
std::size_t longest_fence(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

struct Writer {
  const std::string& prefix;
  std::string out;

  void operator()(const Heading& heading) {
    out += std::string(static_cast<std::size_t>(heading.level), '#') + " " + plain(heading.text) + "\n\n";
  }

  void operator()(const Paragraph& paragraph) { out += plain(paragraph.text) + "\n\n"; }

  void operator()(const List& list) {
    for (const std::string& item : list.items) out += "- " + plain(item) + "\n";
    out += "\n";
  }

  void operator()(const Table& table) {
    if (!table.caption.empty()) out += plain(table.caption) + "\n\n";
    std::string names = "|", under = "|";
    for (const Column& column : table.columns) {
      names += " " + plain(column.name) + " |";
      under += column.number ? " ---: |" : " --- |";
    }
    out += names + "\n" + under + "\n";
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      bool marked = std::find(table.marked.begin(), table.marked.end(), row) != table.marked.end();
      out += "|";
      for (const std::string& cell : table.rows[row]) {
        out += marked && !cell.empty() ? " **" + plain(cell) + "** |" : " " + plain(cell) + " |";
      }
      out += "\n";
    }
    out += "\n";
  }

  void operator()(const Figure& figure) {
    out += fmt::format("![{}]({}{}.svg)\n\n{}\n\n", plain(figure.caption), prefix, figure.name, plain(figure.caption));
  }

  void operator()(const Listing& listing) {
    std::string fence(std::max<std::size_t>(3, longest_fence(listing.text) + 1), '`');
    std::string end = listing.text.empty() || listing.text.back() == '\n' ? "" : "\n";
    out += plain(listing.caption) + ":\n\n" + fence + "\n" + listing.text + end + fence + "\n\n";
  }
};

}  // namespace

std::string to_markdown(const Document& document, const std::string& prefix) {
  Writer writer{prefix, "# " + plain(document.title) + "\n\n"};
  if (!document.subtitle.empty()) writer.out += plain(document.subtitle) + "\n\n";
  for (const Block& block : document.blocks) std::visit(writer, block);
  while (writer.out.ends_with("\n\n")) writer.out.pop_back();
  return writer.out;
}

}  // namespace reprise::report
