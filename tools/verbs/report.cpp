// `reprise report`: what a study or a cohort found, as one page and as Markdown, from its records alone.
#include "tools/report/report.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "tools/cli/verb.h"
#include "tools/report/trace_memory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportHelp =
    R"(Makes a report of the records that STUDY holds: what was run and on what, failures, tables, and pictures of ratios
with intervals, step time against memory, the map, memory over a step, time by seed, equal bytes, and verdicts of
programs. What the records do not tell is left out; no record is.

STUDY is the folder of `reprise study`, the report folder of tools/cohort/run, or a file of records (.jsonl, .jsonl.xz) of
a study or of `reprise bench --record`.
The report is one page, report.html, which needs nothing beside it, and report.md with its pictures as report.NAME.svg;
in STUDY/report unless -o says otherwise. A file of records needs -o, and its own name takes the place of "report". The
same records give the same bytes.

--memory first writes memory over one step of each method into STUDY/extra where it is not there yet: dry steps under
the plans of the study, or one of least peak for a method that has none there; seconds in all.

Examples:
  reprise report runs/study-sparse_write --memory
  reprise report runs/study-sparse_write/records.jsonl -o reports)";

struct ReportOptions {
  std::string study, output;
  bool memory = false;
};

/// "sparse_write" of "records/sparse_write.jsonl.xz".
std::string name_of(const fs::path& file) {
  std::string name = file.filename().string();
  return name.substr(0, name.find(".jsonl"));
}

int run(const ReportOptions& options) {
  fs::path path = fs::path(options.study).lexically_normal();
  std::error_code error;
  bool folder = fs::is_directory(path, error);
  if (!folder && fs::exists(path, error) && options.output.empty()) {
    fail(ErrorKind::user, "[report] expected -o FOLDER with a file of records, so that the report has a place");
  }
  if (options.memory) report::trace_memory(path);
  report::Document document = report::make_report(path);
  fs::path target = options.output.empty() ? path / "report" : fs::path(options.output);
  for (const fs::path& written : report::write_report(document, target, folder ? "report" : name_of(path))) {
    std::printf("%s\n", written.c_str());
  }
  return 0;
}

}  // namespace

Verb report_verb() {
  return {"report", "tables and pictures of what a study or a cohort found", kReportHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<ReportOptions>();
            app.add_option("study", options->study, "folder of a study or cohort, or a file of records")
                .option_text("STUDY")
                .required();
            app.add_option("-o,--output", options->output, "folder of the report (STUDY/report)").option_text("FOLDER");
            app.add_flag("--memory", options->memory, "first trace memory over a step into STUDY/extra");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
