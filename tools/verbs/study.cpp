// `reprise study`: the measurements that figures rest on, each by one command, in fresh processes, resumable.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "models/config/reference.h"
#include "tools/cli/verb.h"
#include "tools/study/runner.h"

namespace reprise {
namespace {

constexpr const char* kStudyHelp =
    R"(Runs the study that FILE describes: plans it once, then does one thing after another, each in a fresh process, in blocks of
a seeded random order, and leaves one line of JSON for each in records.jsonl of the folder: failures and infeasible methods
too. Then it analyses the records: summary.json, and a table here. One line of progress for each process says what it found
and how long the rest will take.

Ctrl-C stops it, and so may a kill at any moment: the same command goes on with what has no record. A process that failed
keeps its record and is not done again unless --retry-failed says so. The workloads are frozen: FILE holds fingerprints of
their configurations and steps, and others are refused; --print-fingerprints prints the section to freeze them anew.

Examples:
  reprise study configs/studies/sparse_write.yaml
  reprise study configs/studies/sparse_write.yaml --plan-only       budgets, and how long it would take
  reprise study configs/studies/sparse_write_small.yaml -o /tmp/small seed=3
  reprise study configs/studies/cifar100_dense_queue.yaml data.path=cifar-100-binary.tar.gz --kind run
  reprise study --reference                                         every key of a study file

Exit codes: 0 done, 1 a process failed or methods disagree in their bytes, 2 a mistake in what was asked for, 130 stopped.)";

struct StudyOptions {
  ConfigArguments arguments;
  std::string folder;
  std::string kind;
  bool dry_run = false, retry_failed = false, plan_only = false, print_fingerprints = false, print_gpu_sizes = false,
       reference = false, job = false;
};

int run(const StudyOptions& options) {
  if (options.job) return study::run_job();
  if (options.reference) {
    winsize size{};
    bool terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    std::fputs(reference_text(study::study_schema(), terminal ? size.ws_col : 100).c_str(), stdout);
    return 0;
  }
  if (options.arguments.file().empty())
    fail(ErrorKind::user, "[study] expected a study file, such as configs/studies/sparse_write.yaml");
  Config config = study::load_study(options.arguments.file(), options.arguments.overrides());
  if (options.print_fingerprints) {
    std::fputs(study::make_study_type(config.get_string("type"))->fingerprints(config).c_str(), stdout);
    return 0;
  }
  if (options.print_gpu_sizes) {
    std::fputs(study::make_study_type(config.get_string("type"))->gpu_sizes(config).c_str(), stdout);
    return 0;
  }
  if (options.dry_run) return study::list_tasks(config);
  std::filesystem::path folder =
      options.folder.empty() ? study::default_folder(config) : std::filesystem::path(options.folder);
  return study::run_study(config, {folder, options.retry_failed, options.plan_only, options.kind});
}

}  // namespace

Verb study_verb() {
  return {"study", "run a study in fresh processes, resumable, with every record kept", kStudyHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<StudyOptions>();
            options->arguments.add_to(app);
            app.add_option("-o,--output", options->folder, "the study's folder (runs/study-NAME)").option_text("DIR");
            app.add_flag("--retry-failed", options->retry_failed, "do again what failed; the old records stay");
            app.add_option("--kind", options->kind, "do only what leaves records of this kind").option_text("KIND");
            app.add_flag("--dry-run", options->dry_run,
                         "check FILE and list its tasks, where those are known before planning; nothing is measured");
            app.add_flag("--plan-only", options->plan_only, "stop before the first process");
            app.add_flag("--print-fingerprints", options->print_fingerprints,
                         "print the section `fingerprints` of FILE, made anew");
            app.add_flag("--print-gpu-sizes", options->print_gpu_sizes,
                         "print what steps of the sizes under `gpu` of FILE hold; they are not run");
            app.add_flag("--reference", options->reference, "explain every key of a study file");
            app.add_flag("--job", options->job, "what a fresh process is started with").hidden();
            return [options] { return run(*options); };
          },
          study::study_schema};
}

}  // namespace reprise
