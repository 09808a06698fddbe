// A document as one page of HTML that is XML too.
#include <fmt/core.h>

#include <algorithm>

#include "tools/chart/text.h"
#include "tools/report/document.h"

namespace reprise::report {
namespace {

using chart::escape_xml;

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1c1c1c; --soft: #555; --line: #cfcfcf; --paper: #fff; --stripe: #f5f5f5;
        --mark: #fff1dd; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e4; --soft: #a8a8a8; --line: #484848; --paper: #181818; --stripe: #212121; --mark: #4a3410; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 20px 60px; max-width: 1040px; color: var(--ink); background: var(--paper);
       font: 15px/1.5 Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif; }
h1 { font-size: 26px; line-height: 1.25; margin: 8px 0 4px; }
h2 { font-size: 20px; margin: 40px 0 8px; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
h3 { font-size: 16.5px; margin: 28px 0 6px; }
h4 { font-size: 15px; margin: 20px 0 4px; }
p { margin: 8px 0; max-width: 900px; }
.subtitle { color: var(--soft); margin-top: 0; }
nav { margin: 14px 0 0; font-size: 14px; }
nav a { margin-right: 16px; color: inherit; white-space: nowrap; }
ul { margin: 8px 0; padding-left: 22px; }
li { margin: 3px 0; }
.wide { overflow-x: auto; margin: 14px 0 18px; }
table { border-collapse: collapse; font-size: 13px; line-height: 1.35; }
p.caption { color: var(--soft); margin: 0 0 6px; font-size: 13.5px; }
th, td { padding: 4px 10px 4px 0; text-align: left; vertical-align: top; }
th { border-bottom: 1.5px solid var(--ink); vertical-align: bottom; }
td { border-bottom: 1px solid var(--line); }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; padding-left: 8px; }
td.n { white-space: nowrap; }
table.dense { font-size: 11.5px; }
table.dense th, table.dense td { padding-right: 5px; padding-left: 3px; }
tbody tr:nth-child(even) { background: var(--stripe); }
tbody tr.marked { background: var(--mark); font-weight: bold; }
figure { margin: 18px 0 24px; }
figure svg { display: block; max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line); }
figcaption { color: var(--soft); font-size: 13.5px; margin-top: 6px; max-width: 900px; }
details { margin: 14px 0; }
pre { overflow-x: auto; background: var(--stripe); padding: 10px 12px; font-size: 12.5px; line-height: 1.4; }
@media print {
  :root { --ink: #000; --soft: #333; --line: #aaa; --paper: #fff; --stripe: #fff; --mark: #eee; }
  body { max-width: none; padding: 0; font-size: 11pt; }
  nav { display: none; }
  table { font-size: 7.5pt; }
  table.dense { font-size: 6.2pt; }
  th, td { padding: 2px 5px 2px 0; }
  .wide { overflow: visible; }
  figure, tr { break-inside: avoid; }
  h2, h3, h4, p.caption { break-after: avoid; }
}
)";

/// A picture inside the page needs no declaration and no name of its language.
std::string inline_svg(const std::string& svg) {
  std::string out = svg.substr(std::min(svg.find("<svg"), svg.size()));
  const std::string language = " xmlns=\"http://www.w3.org/2000/svg\"";
  if (std::size_t at = out.find(language); at != std::string::npos) out.erase(at, language.size());
  return out;
}

struct Writer {
  std::string out;
  int section = 0;

  void operator()(const Heading& heading) {
    std::string id = heading.level == 2 ? fmt::format(" id=\"s{}\"", ++section) : "";
    out += fmt::format("<h{0}{1}>{2}</h{0}>\n", heading.level, id, escape_xml(heading.text));
  }

  void operator()(const Paragraph& paragraph) { out += "<p>" + escape_xml(paragraph.text) + "</p>\n"; }

  void operator()(const List& list) {
    out += "<ul>\n";
    for (const std::string& item : list.items) out += "<li>" + escape_xml(item) + "</li>\n";
    out += "</ul>\n";
  }

  /// A long name may break after an underscore.
  static std::string with_breaks(const std::string& name) {
    std::string out;
    for (char c : name) out += c == '_' ? "_<wbr/>" : std::string(1, c);
    return out;
  }

  void cells(const Table& table, const std::vector<std::string>& texts, const char* element) {
    bool head = std::string_view(element) == "th";
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const char* kind = table.columns[i].number ? " class=\"n\"" : "";
      out += fmt::format("<{0}{1}>{2}</{0}>", element, kind,
                         head ? with_breaks(escape_xml(texts[i])) : escape_xml(texts[i]));
    }
  }

  void operator()(const Table& table) {
    std::vector<std::string> names;
    for (const Column& column : table.columns) names.push_back(column.name);
    out += "<div class=\"wide\">\n";
    if (!table.caption.empty()) out += "<p class=\"caption\">" + escape_xml(table.caption) + "</p>\n";
    constexpr std::size_t kMany = 12;
    out += table.columns.size() > kMany ? "<table class=\"dense\">\n" : "<table>\n";
    out += "<thead><tr>";
    cells(table, names, "th");
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      bool marked = std::find(table.marked.begin(), table.marked.end(), row) != table.marked.end();
      out += marked ? "<tr class=\"marked\">" : "<tr>";
      cells(table, table.rows[row], "td");
      out += "</tr>\n";
    }
    out += "</tbody>\n</table></div>\n";
  }

  void operator()(const Figure& figure) {
    out += "<figure>\n" + inline_svg(figure.svg);
    out += "<figcaption>" + escape_xml(figure.caption) + "</figcaption>\n</figure>\n";
  }

  void operator()(const Listing& listing) {
    out += "<details><summary>" + escape_xml(listing.caption) + "</summary>\n<pre>" + escape_xml(listing.text) +
           "</pre>\n</details>\n";
  }
};

std::string contents_of(const Document& document) {
  std::string links;
  int section = 0;
  for (const Block& block : document.blocks) {
    const Heading* heading = std::get_if<Heading>(&block);
    if (!heading || heading->level != 2) continue;
    links += fmt::format("<a href=\"#s{}\">{}</a>\n", ++section, escape_xml(heading->text));
  }
  return section > 1 ? "<nav>\n" + links + "</nav>\n" : "";
}

}  // namespace

std::string to_html(const Document& document) {
  Writer writer;
  for (const Block& block : document.blocks) std::visit(writer, block);
  std::string title = escape_xml(document.title);
  std::string head = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<h1>{}</h1>\n",
      title, kStyle, title);
  if (!document.subtitle.empty()) head += "<p class=\"subtitle\">" + escape_xml(document.subtitle) + "</p>\n";
  return head + contents_of(document) + writer.out + "</body>\n</html>\n";
}

}  // namespace reprise::report
