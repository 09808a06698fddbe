#include "tools/report/document.h"

#include <iterator>

#include "core/error.h"

namespace reprise::report {

void Document::list(std::vector<std::string> items) {
  if (!items.empty()) blocks.push_back(List{std::move(items)});
}

void Document::table(Table table) {
  for (const std::vector<std::string>& row : table.rows) {
    if (row.size() == table.columns.size()) continue;
    fail(ErrorKind::internal, "[report] table \"{}\": expected rows of {} cells, got one of {}", table.caption,
         table.columns.size(), row.size());
  }
  blocks.push_back(std::move(table));
}

void Document::figure(std::string name, std::string svg, std::string caption) {
  blocks.push_back(Figure{std::move(name), std::move(svg), std::move(caption)});
}

void Document::append(Document other) {
  blocks.insert(blocks.end(), std::make_move_iterator(other.blocks.begin()),
                std::make_move_iterator(other.blocks.end()));
}

}  // namespace reprise::report
