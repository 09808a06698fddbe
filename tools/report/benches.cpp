// What `reprise bench --record` kept: for each sitting its table, and the ratios to the peer as a picture.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/bench/report.h"
#include "tools/chart/chart.h"
#include "tools/report/pictures.h"
#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

bench::Samples samples_in(const Json& row, const char* side) {
  bench::Samples samples;
  if (!row.contains(side)) return samples;
  for (const Json& value : row[side]["samples"]) samples.add(value.get<double>());
  return samples;
}

/// A row of a bench as the report reads it.
struct Figures {
  std::string what, unit, target, note;
  bench::Samples ours, peer;
  bool more_is_better = false, upper_limit = false;
  double limit = Measured::kNone;
  std::string limit_by;

  explicit Figures(const Json& row)
      : what(text_in(row, "what")),
        unit(text_in(row, "unit")),
        target(text_in(row, "target")),
        note(text_in(row, "note")),
        ours(samples_in(row, "ours")),
        peer(samples_in(row, "peer")),
        more_is_better(row.value("more_is_better", Json(false)) == true),
        upper_limit(row.contains("upper_95_percent")) {
    if (!row.contains("limit") || !row["limit"].is_object()) return;
    limit = number_in(row["limit"], "value");
    limit_by = text_in(row["limit"], "by");
  }

  /// Ours over the peer's as a cost: what is better when it is more is turned round.
  double over_peer() const {
    double ratio = ours.median() / peer.median();
    return more_is_better ? 1 / ratio : ratio;
  }
};

/// What a target that begins with a number asks for, and what was found.
struct Verdict {
  double wanted = 0, found = 0;
  bool of_peer = false;
  bool met() const { return found <= wanted; }
};

/// Targets are texts ("0.65 of channels-last", "2.5 times ...", "100 ns", "1.05"): those that begin with a number are
/// judged, by the peer where they say of whom.
std::optional<Verdict> verdict_on(const Figures& row) {
  const char* begin = row.target.c_str();
  char* end = nullptr;
  double wanted = std::strtod(begin, &end);
  if (end == begin || !(wanted > 0)) return std::nullopt;
  std::string rest(end);
  if (rest.starts_with(" times") && !row.peer.empty()) return Verdict{1 / wanted, row.over_peer(), true};
  if (rest.starts_with(" of ") && !row.peer.empty()) return Verdict{wanted, row.over_peer(), true};
  bool same_unit = rest.starts_with(" " + row.unit) || (row.unit == "x" && (rest.empty() || rest.starts_with(",")));
  if (!same_unit) return std::nullopt;
  double found = row.upper_limit ? row.ours.upper_limit() : row.ours.median();
  return Verdict{wanted, std::isfinite(found) ? found : row.ours.median(), false};
}

std::string spread_text(const bench::Samples& samples, const std::string& unit) {
  if (samples.size() < 2) return "";
  return fmt::format("{} to {}", bench::figure(samples.min(), unit), bench::figure(samples.max(), unit));
}

void add_table(Document& document, const std::vector<Figures>& rows) {
  Table table{"Medians over rounds, smallest to largest; ours : peer is a ratio of medians",
              {{"what", false},
               {"ours"},
               {"range"},
               {"machine's limit"},
               {"peer"},
               {"range"},
               {"ours : peer"},
               {"wanted", false},
               {"verdict", false},
               {"note", false}},
              {},
              {}};
  for (const Figures& row : rows) {
    std::optional<Verdict> verdict = verdict_on(row);
    std::string note = row.note;
    if (row.upper_limit && std::isfinite(row.ours.upper_limit())) {
      note = fmt::format("upper 95 % limit {}{}{}", bench::figure(row.ours.upper_limit(), row.unit),
                         note.empty() ? "" : "; ", note);
    }
    bool limited = std::isfinite(row.limit), peered = !row.peer.empty(), both = peered && !row.ours.empty();
    if (verdict && !verdict->met()) table.marked.push_back(table.rows.size());
    table.rows.push_back({row.what, bench::figure(row.ours.median(), row.unit), spread_text(row.ours, row.unit),
                          limited ? fmt::format("{} ({})", bench::figure(row.limit, row.unit), row.limit_by) : "",
                          peered ? bench::figure(row.peer.median(), row.unit) : "",
                          peered ? spread_text(row.peer, row.unit) : "",
                          both ? fmt::format("{:.3f}", row.ours.median() / row.peer.median()) : "", row.target,
                          !verdict         ? ""
                          : verdict->met() ? "met"
                                           : "missed",
                          note});
  }
  document.table(std::move(table));
}

void draw_peer(Document& document, const std::vector<Figures>& rows, const std::string& what) {
  std::vector<ForestPoint> points;
  std::vector<std::string> names;
  for (const Figures& row : rows) {
    if (row.ours.empty() || row.peer.empty() || row.unit == "x")
      continue;  // a ratio of ratios has no place among ratios of costs
    bench::Samples ratios;
    for (std::size_t i = 0; i < std::min(row.ours.size(), row.peer.size()); ++i) {
      double ratio = row.ours.values()[i] / row.peer.values()[i];
      ratios.add(row.more_is_better ? 1 / ratio : ratio);
    }
    names.push_back(row.what);
    points.push_back({row.what, "measured: medians, range of rounds", row.over_peer(), ratios.min(), ratios.max()});
    std::optional<Verdict> verdict = verdict_on(row);
    if (verdict) points.push_back({row.what, "wanted at most", verdict->wanted, Measured::kNone, Measured::kNone});
  }
  if (names.empty()) return;
  chart::Panel panel = forest_panel(names, points);
  panel.x.label = "ours : peer (ratio; less is better)";
  panel.x.scale = chart::ScaleKind::log;
  mark_equal(panel, "the peer");
  chart::Chart picture;
  picture.title = "Against PyTorch: " + what;
  picture.subtitle = "time, or memory where the row says so; images per second are turned round";
  picture.legend = chart::LegendPlace::below;
  picture.panels.push_back(std::move(panel));
  document.figure(file_name("peer " + what), chart::to_svg(picture),
                  "Ratio of ours to the peer's for each row of " + what + ", and what was wanted of it.");
}

std::string circumstances_of(const Json& record) {
  const Json& versions = record["versions"];
  double before = number_in(record["load"], "before"), after = number_in(record["load"], "after");
  std::string load = std::isfinite(before) && std::isfinite(after)
                         ? fmt::format("; load {:.2f} before, {:.2f} after", before, after)
                         : "";
  return fmt::format("Command: reprise {}. Begun {}{}. Reprise {} (commit {}), {}, oneDNN {}.",
                     text_in(record, "command"), text_in(record, "started"), load, text_in(versions, "reprise"),
                     text_in(versions, "commit"), text_in(versions, "compiler"), text_in(versions, "onednn"));
}

void tell(const std::vector<Figures>& rows, const std::string& command, Findings& findings) {
  for (const Figures& row : rows) {
    std::optional<Verdict> verdict = verdict_on(row);
    if (!verdict || (verdict->met() && row.peer.empty())) continue;
    std::string unit = verdict->of_peer ? " of the peer's" : row.unit == "x" ? "" : " " + row.unit;
    findings.push_back(fmt::format("{}: {}: {:.3f}{}, wanted at most {:.3f}: {}.", command, row.what, verdict->found,
                                   unit, verdict->wanted, verdict->met() ? "met" : "missed"));
  }
}

std::vector<std::string> lines_of(const Json& list) {
  std::vector<std::string> lines;
  for (const Json& line : list) {
    if (line.is_string()) lines.push_back(line.get<std::string>());
  }
  return lines;
}

}  // namespace

void add_benches(Document& document, const std::vector<Json>& records, Findings& findings) {
  std::map<std::string, int> sittings;
  for (const Json& record : records) {
    std::string command = text_in(record, "command");
    int sitting = ++sittings[command];
    std::string name = sitting == 1 ? command : fmt::format("{}, sitting {}", command, sitting);
    std::vector<Figures> rows;
    for (const Json& row : record["rows"]) rows.emplace_back(row);
    document.heading(2, name);
    document.text(text_in(record, "title") + ". " + circumstances_of(record));
    document.list(lines_of(record["header"]));
    add_table(document, rows);
    draw_peer(document, rows, name);
    document.list(lines_of(record["remarks"]));
    tell(rows, name, findings);
  }
}

}  // namespace reprise::report
