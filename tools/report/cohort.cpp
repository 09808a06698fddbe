// Verdicts on conformance programs, by class and mode.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "tools/chart/chart.h"
#include "tools/cohort_view/cohort.h"
#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

void add_facts(Document& document, const Cohort& cohort) {
  Table table{"What was run, and on what", {{"", false}, {"", false}}, {}, {}};
  const Json& manifest = cohort.manifest;
  std::int64_t records = 0;
  for (const CohortMode& mode : cohort.modes) records += mode.records;
  table.rows.push_back({"records", cohort.source + ", " + counted(records, "record", "records")});
  const Json programs = manifest.value("programs", Json::object());
  double lines = number_in(programs, "lines"), known = number_in(manifest, "public");
  if (lines > 0) {
    table.rows.push_back(
        {"programs",
         fmt::format("{:.0f}{}", lines,
                     known >= 0 ? fmt::format(", {:.0f} of them public, the others generated", known) : "")});
    table.rows.push_back({"SHA-256 of programs.jsonl.xz", text_in(programs, "sha256")});
  }
  if (!text_in(manifest, "command").empty()) table.rows.push_back({"command", text_in(manifest, "command")});
  const Json versions = manifest.value("versions", Json::object());
  for (const auto& [name, value] : versions.items()) {
    table.rows.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  document.table(std::move(table));
}

void add_counts(Document& document, const Cohort& cohort) {
  Table table{"Verdicts by mode, in programs", {{"mode", false}, {"", false}}, {}, {}};
  for (const cohort::Verdict& verdict : cohort::verdicts()) table.columns.push_back({verdict.name});
  table.columns.push_back({"all"});
  for (const CohortMode& mode : cohort.modes) {
    std::vector<std::string> row{mode.name, mode.framework + ": " + mode.about};
    for (const cohort::Verdict& verdict : cohort::verdicts()) row.push_back(count_text(mode.of(verdict.name)));
    row.push_back(count_text(mode.records));
    table.rows.push_back(std::move(row));
  }
  document.table(std::move(table));
  std::vector<std::string> meaning;
  for (const cohort::Verdict& verdict : cohort::verdicts())
    meaning.push_back(std::string(verdict.name) + ": " + verdict.about);
  document.list(std::move(meaning));
}

std::vector<std::string> classes_of(const Cohort& cohort) {
  std::set<std::string> classes;
  for (const CohortMode& mode : cohort.modes) {
    for (const auto& [group, counts] : mode.verdicts) classes.insert(group);
  }
  return {classes.begin(), classes.end()};
}

/// The share of a class's programs with one of these verdicts, in percent, of all that the mode ran.
chart::HeatMap heat_map_of(const Cohort& cohort, const std::vector<std::string>& classes,
                           const std::vector<std::string>& kinds) {
  chart::HeatMap map;
  map.unit = chart::Unit::percent;
  map.label = "share of the class's programs";
  map.low = 0;
  map.high = 100;
  for (const CohortMode& mode : cohort.modes) map.columns.push_back(mode.name);
  for (const std::string& group : classes) {
    std::int64_t most = 0;
    for (const CohortMode& mode : cohort.modes) most = std::max(most, mode.in(group));
    map.rows.push_back(fmt::format("{} ({})", group, most));
    for (const CohortMode& mode : cohort.modes) {
      std::int64_t sum = 0;
      for (const std::string& kind : kinds) sum += mode.of(group, kind);
      map.values.push_back(mode.in(group) > 0 ? 100.0 * static_cast<double>(sum) / static_cast<double>(mode.in(group))
                                              : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return map;
}

void draw(Document& document, const Cohort& cohort, const std::vector<std::string>& classes, const std::string& title,
          const std::string& name, const std::vector<std::string>& kinds, const std::string& caption) {
  chart::Panel panel;
  panel.heat_map = heat_map_of(cohort, classes, kinds);
  panel.x.label = "mode";
  panel.y.label = "class of programs (how many)";
  panel.height = std::max(160.0, 22 * static_cast<double>(classes.size()));
  chart::Chart picture;
  picture.title = title;
  picture.panels.push_back(std::move(panel));
  document.figure(name, chart::to_svg(picture), caption);
}

void add_classes(Document& document, const Cohort& cohort, const std::vector<std::string>& classes) {
  Table table{"Verdicts by class, in programs: match/rejected/diverged (silent gradient or state)/unsupported or crash",
              {{"class", false}},
              {},
              {}};
  for (const CohortMode& mode : cohort.modes) table.columns.push_back({mode.name});
  for (const std::string& group : classes) {
    std::vector<std::string> row{group};
    for (const CohortMode& mode : cohort.modes) {
      std::int64_t rejected = mode.of(group, "reject_allowed") + mode.of(group, "reject_needless");
      std::int64_t diverged = mode.of(group, "silent") + mode.of(group, "state");
      std::int64_t without = mode.of(group, "unsupported") + mode.of(group, "crash");
      bool ran = mode.in(group) > 0;
      row.push_back(ran ? fmt::format("{}/{}/{}/{}", mode.of(group, "match"), rejected, diverged, without) : "not run");
    }
    table.rows.push_back(std::move(row));
  }
  document.table(std::move(table));
}

/// One sentence for each framework, in the order of the modes.
void add_findings(const Cohort& cohort, Findings& findings) {
  std::vector<std::string> frameworks;
  for (const CohortMode& mode : cohort.modes) {
    if (std::find(frameworks.begin(), frameworks.end(), mode.framework) == frameworks.end())
      frameworks.push_back(mode.framework);
  }
  for (const std::string& framework : frameworks) {
    std::int64_t modes = 0, records = 0, silent = 0, state = 0, needless = 0, crash = 0;
    for (const CohortMode& mode : cohort.modes) {
      if (mode.framework != framework) continue;
      ++modes;
      records += mode.records;
      silent += mode.of("silent");
      state += mode.of("state");
      needless += mode.of("reject_needless");
      crash += mode.of("crash");
    }
    std::string diverged =
        silent + state == 0
            ? "no divergence"
            : fmt::format("{} diverged: {} with a silent wrong gradient, {} with wrong state or effects",
                          count_text(silent + state), count_text(silent), count_text(state));
    findings.push_back(fmt::format("{}: {} in {}: {}; {} refused needlessly, {}.", framework,
                                   counted(records, "record", "records"), counted(modes, "mode", "modes"), diverged,
                                   count_text(needless), counted(crash, "crash", "crashes")));
  }
}

}  // namespace

void add_cohort(Document& document, const Cohort& cohort, Findings& findings) {
  document.heading(2, "What was run");
  add_facts(document, cohort);
  document.heading(2, "Verdicts");
  add_findings(cohort, findings);
  add_counts(document, cohort);
  std::vector<std::string> classes = classes_of(cohort);
  draw(document, cohort, classes, "Divergences by class and mode", "cohort-diverged", {"silent", "state"},
       "Share of the programs of a class that a mode runs without a word to a wrong gradient, state or effect. "
       "Hatched: not run.");
  draw(document, cohort, classes, "Matches by class and mode", "cohort-match", {"match"},
       "Share of the programs of a class whose gradients, state and effects are those expected. Hatched: not run.");
  add_classes(document, cohort, classes);
}

}  // namespace reprise::report
