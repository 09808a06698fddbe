#include "tools/report/report.h"

#include "core/error.h"
#include "data/atomic_file.h"
#include "tools/bench/record.h"
#include "tools/report/sections.h"
#include "tools/report/wording.h"

namespace reprise::report {
namespace {

namespace fs = std::filesystem;

/// What a reader should know first, then the sections.
Document finish(Document document, Findings findings, Document body) {
  if (!findings.empty()) document.heading(2, "What it shows");
  document.list(std::move(findings));
  document.append(std::move(body));
  return document;
}

Document study_report(const fs::path& path) {
  Study study = read_study(path);
  Document document, body;
  Findings findings;
  document.title = "Study " + study.name;
  document.subtitle = counted(static_cast<std::int64_t>(study.records.size()), "record", "records") +
                      ". Everything here is computed from them; none is left out.";
  add_what_ran(body, study, findings);
  add_equal_bytes(body, study, findings);
  add_workloads(body, study, findings);
  add_map(body, study, findings);
  add_memory(body, study, findings);
  add_runs(body, study, findings);
  add_timing(body, study, findings);
  return finish(std::move(document), std::move(findings), std::move(body));
}

Document cohort_report(const fs::path& path) {
  Cohort cohort = read_cohort(path);
  Document document, body;
  Findings findings;
  std::int64_t records = 0;
  for (const CohortMode& mode : cohort.modes) records += mode.records;
  document.title = "Programs run by other frameworks and by Reprise";
  document.subtitle = counted(records, "record", "records") + ", one for each program and mode.";
  add_cohort(body, cohort, findings);
  return finish(std::move(document), std::move(findings), std::move(body));
}

Document bench_report(const fs::path& path) {
  Document document, body;
  Findings findings;
  std::vector<Json> records = bench::parse_records(record_text(path), path.string());
  document.title = "What things cost";
  document.subtitle = counted(static_cast<std::int64_t>(records.size()), "sitting", "sittings") +
                      " of `reprise bench`. Medians over rounds; everything here is computed from its records.";
  add_benches(body, records, findings);
  return finish(std::move(document), std::move(findings), std::move(body));
}

bool is_of_benches(const fs::path& path) {
  std::error_code error;
  return is_study(path) && !fs::is_directory(path, error) && bench::are_records(record_text(path));
}

}  // namespace

Document make_report(const fs::path& path) {
  if (is_cohort(path)) return cohort_report(path);
  return is_of_benches(path) ? bench_report(path) : study_report(path);
}

std::vector<fs::path> write_report(const Document& document, const fs::path& folder, const std::string& name) {
  make_output_folder(folder, "report");
  for (const Block& block : document.blocks) {
    if (const Figure* figure = std::get_if<Figure>(&block))
      write_file_atomically(folder / (name + "." + figure->name + ".svg"), figure->svg);
  }
  std::vector<fs::path> paths{folder / (name + ".html"), folder / (name + ".md")};
  write_file_atomically(paths[0], to_html(document));
  write_file_atomically(paths[1], to_markdown(document, name + "."));
  return paths;
}

}  // namespace reprise::report
