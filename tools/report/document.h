// What a report says, as plain data: headings, text, tables and pictures in their order; and the two forms it is
// written in. Filled by the sections (sections.h); the same document gives the same bytes.
//
// The page stands alone: its style and pictures are in it, and it names no other file or host. It is XML too.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace reprise::report {

struct Heading {
  int level = 2;  // 2: a section; 3, 4: below it
  std::string text;
};

struct Paragraph {
  std::string text;
};

struct List {
  std::vector<std::string> items;
};

struct Column {
  std::string name;
  bool number = true;  // stands at the right of its column
};

struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns
  std::vector<std::size_t> marked;             // rows that a reader must not miss
};

struct Figure {
  std::string name;     // of its file, without ".svg"; unique in the document
  std::string svg;      // a whole document
  std::string caption;  // what is seen, for those who do not see it too
};

/// A text with line ends, such as a file; folded away on the page.
struct Listing {
  std::string caption, text;
};

using Block = std::variant<Heading, Paragraph, List, Table, Figure, Listing>;

struct Document {
  std::string title, subtitle;
  std::vector<Block> blocks;

  void heading(int level, std::string text) { blocks.push_back(Heading{level, std::move(text)}); }
  void text(std::string words) { blocks.push_back(Paragraph{std::move(words)}); }
  void list(std::vector<std::string> items);  // nothing for no items
  /// Errors (internal): a row that is not as long as the columns.
  void table(Table table);
  void figure(std::string name, std::string svg, std::string caption);
  void append(Document other);
};

std::string to_html(const Document& document);
/// Pictures are named as files beside it: `PREFIX` + name + ".svg".
std::string to_markdown(const Document& document, const std::string& prefix = "");

}  // namespace reprise::report
