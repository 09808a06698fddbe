#include "tools/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace reprise::bench {
namespace {

std::string digits(double value) {
  if (!std::isfinite(value)) return "-";
  double size = std::fabs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string spread(const Samples& samples) {
  return samples.size() < 2 ? "" : fmt::format("{} .. {}", digits(samples.min()), digits(samples.max()));
}

using Cells = std::vector<std::string>;

Cells cells_of(const Row& row) {
  double ours = row.ours.median();
  Cells cells = {row.what, figure(ours, row.unit), spread(row.ours)};
  if (row.bound > 0) {
    double share = row.more_is_better ? ours / row.bound : row.bound / ours;
    cells.push_back(fmt::format("{} ({})", digits(row.bound), row.bound_by));
    cells.push_back(fmt::format("{:.0f} %", 100 * share));
  } else {
    cells.insert(cells.end(), {"", ""});
  }
  if (!row.peer.empty()) {
    cells.insert(cells.end(), {digits(row.peer.median()), spread(row.peer),
                               row.ours.empty() ? "-" : fmt::format("{:.3f}", ours / row.peer.median())});
  } else {
    cells.insert(cells.end(), {"", "", ""});
  }
  std::string last = row.target;
  if (row.show_upper_limit)
    last += fmt::format("{}upper 95 %: {}", last.empty() ? "" : "; ", digits(row.ours.upper_limit()));
  if (!row.note.empty()) last += (last.empty() ? "" : "; ") + row.note;
  cells.push_back(last);
  return cells;
}

const Cells kHeads = {"what", "ours",       "min .. max", "limit",       "of it",
                      "peer", "min .. max", "ours/peer",  "target; note"};

}  // namespace

std::string figure(double value, const std::string& unit) {
  return unit.empty() ? digits(value) : digits(value) + " " + unit;
}

std::string Report::table() const {
  std::vector<Cells> lines = {kHeads};
  for (const Row& row : rows_) lines.push_back(cells_of(row));
  std::vector<bool> right;
  std::vector<Cells> used(lines.size());
  for (std::size_t column = 0; column < kHeads.size(); ++column) {
    bool empty = std::all_of(lines.begin() + 1, lines.end(), [&](const Cells& line) { return line[column].empty(); });
    if (empty) continue;
    for (std::size_t i = 0; i < lines.size(); ++i) used[i].push_back(lines[i][column]);
    right.push_back(column > 0 && column + 1 < kHeads.size());
  }
  std::string text = title_ + "\n";
  for (const std::string& line : header_) text += "  " + line + "\n";
  text += "\n";
  text += format_table(used, right);
  if (!remarks_.empty()) text += "\n";
  for (const std::string& line : remarks_) text += line + "\n";
  return text;
}

namespace {

Json samples_json(const Samples& samples) {
  return {{"median", samples.median()}, {"min", samples.min()}, {"max", samples.max()}, {"samples", samples.values()}};
}

}  // namespace

Json Report::json() const {
  Json rows = Json::array();
  for (const Row& row : rows_) {
    Json line = {{"what", row.what}, {"unit", row.unit}, {"ours", samples_json(row.ours)}};
    if (row.more_is_better) line["more_is_better"] = true;
    if (row.show_upper_limit) line["upper_95_percent"] = row.ours.upper_limit();
    if (row.bound > 0) line["limit"] = {{"value", row.bound}, {"by", row.bound_by}};
    if (!row.peer.empty()) {
      line["peer"] = samples_json(row.peer);
      line["ours_over_peer"] = row.ours.median() / row.peer.median();
    }
    if (!row.target.empty()) line["target"] = row.target;
    if (!row.note.empty()) line["note"] = row.note;
    rows.push_back(std::move(line));
  }
  return {{"title", title_}, {"header", header_}, {"rows", std::move(rows)}, {"remarks", remarks_}};
}

}  // namespace reprise::bench
