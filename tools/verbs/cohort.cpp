// `reprise cohort`: what other frameworks, and Reprise, made of the same conformance programs, from the records alone.
#include "tools/cohort_view/cohort.h"

#include <cstdio>
#include <memory>

#include "core/error.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kCohortHelp =
    R"(Prints the tables of a cohort: conformance programs run in modes of PyTorch, JAX and Reprise, with one record for each
program and mode, as tools/cohort/run leaves them. Every file is checked against the hash in the manifest first.

REPORT is a folder with manifest.json, or the output folder of tools/cohort/run. Three tables: the verdicts of each mode;
for each root-cause class how many programs a mode gets wrong (of those it can express; "." none, "-" cannot express);
and on how many programs two modes differ.

Examples:
  reprise cohort configs/studies/records/cohort
  reprise cohort configs/studies/records/cohort --record c05_batchnorm@torch_reentrant
  reprise cohort configs/studies/records/cohort --differ torch_eager,torch_nonreentrant
  reprise cohort configs/studies/records/cohort --program g00003 > g00003.json)";

struct CohortOptions {
  std::string report, record, program, differ;
  bool json = false;
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_record(const cohort::Cohort& cohort, const std::string& id) {
  Words known;
  for (const cohort::Mode& mode : cohort.modes) {
    for (const cohort::Record& record : mode.records) {
      if (record.id == id) return print(json_pretty(Json::parse(record.text)));
      known.push_back(record.id);
    }
  }
  std::string nearest = nearest_name(id, known);
  fail(ErrorKind::user, "[cohort] expected the id of a record, PROGRAM@MODE, got '{}'{}", id,
       nearest.empty() ? "" : ". Nearest is " + nearest);
}

int run(const CohortOptions& options) {
  cohort::Cohort cohort = cohort::read_cohort(options.report);
  if (!options.record.empty()) {
    print_record(cohort, options.record);
  } else if (!options.program.empty()) {
    print(json_pretty(cohort::read_program(cohort, options.program)));
  } else if (!options.differ.empty()) {
    std::size_t comma = options.differ.find(',');
    if (comma == std::string::npos)
      fail(ErrorKind::user, "[cohort] expected --differ MODE,MODE, got '{}'", options.differ);
    print(cohort::difference_list(cohort, options.differ.substr(0, comma), options.differ.substr(comma + 1)));
  } else if (options.json) {
    print(json_pretty(cohort::summary(cohort)));
  } else {
    print("Verdicts\n\n" + cohort::verdict_table(cohort) +
          "\nPrograms that a mode gets wrong, by root-cause class\n\n" + cohort::class_table(cohort) +
          "\nPrograms on whose verdict two modes differ\n\n" + cohort::difference_table(cohort));
  }
  return 0;
}

}  // namespace

Verb cohort_verb() {
  return {"cohort", "what other frameworks made of the conformance programs", kCohortHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<CohortOptions>();
            app.add_option("report", options->report, "folder of a cohort's records").option_text("REPORT").required();
            app.add_option("--record", options->record, "print one record").option_text("PROGRAM@MODE");
            app.add_option("--program", options->program, "print one program").option_text("NAME");
            app.add_option("--differ", options->differ, "list the programs on which two modes differ")
                .option_text("MODE,MODE");
            app.add_flag("--json", options->json, "the counts as JSON");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
