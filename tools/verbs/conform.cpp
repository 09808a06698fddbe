// `reprise conform`: runs conformance programs under each method and says whether the results are right.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "core/interrupt.h"
#include "data/atomic_file.h"
#include "tools/cli/verb.h"
#include "tools/conform/report.h"

namespace reprise {
namespace {

constexpr const char* kConformHelp =
    R"(Runs conformance programs (JSON, format "reprise-conformance/1") under each method and compares gradients, buffers,
streams, cells and replay counts with what each program expects. A folder stands for the *.json files in it.

Verdicts: match, reject (an error), silent (no error, a gradient differs), state (something else differs), unsupported,
and ran for a program that expects nothing. The exit code is 0 if all are match, ran or a reject that is allowed. A
file that is no program gets no verdict and does not keep the others from theirs; the exit code is then 2.

Methods: retain, whole, region, mixed (drawn per segment from --seed), and unchecked: replay against live bytes with
nothing preserved. Its gradients are not to be trusted; it runs only when named.

Examples:
  reprise conform programs/
  reprise conform queue.json --method region,whole --jsonl results.jsonl)";

struct ConformOptions {
  std::vector<std::string> paths;
  std::vector<std::string> methods;
  std::string jsonl;
  std::uint64_t seed = 1;
  bool quiet = false;
};

std::vector<Method> parse_methods(const std::vector<std::string>& given) {
  std::vector<Method> methods;
  for (const std::string& list : given) {
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
      Method method = parse_method(word);
      if (std::find(methods.begin(), methods.end(), method) == methods.end()) methods.push_back(method);
    }
  }
  if (methods.empty()) methods = {Method::retain, Method::whole, Method::region, Method::mixed};
  return methods;
}

/// All programs that can be read; why others cannot goes to `mistakes`, a line each, with its stage.
std::vector<conform::Program> load_programs(const std::vector<std::string>& paths, std::string& mistakes) {
  std::vector<conform::Program> programs;
  auto attempt = [&](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      if (exit_code(error.kind()) != 2) throw;
      mistakes += (mistakes.empty() ? "" : "\n") + std::string(error.what());
    }
  };
  for (const std::string& path : paths) {
    attempt([&] {
      for (const std::string& file : conform::find_programs({path})) {
        attempt([&] { programs.push_back(conform::load_program(file)); });
      }
    });
  }
  return programs;
}

int run(const ConformOptions& options) {
  std::vector<Method> methods = parse_methods(options.methods);
  if (std::find(methods.begin(), methods.end(), Method::unchecked) != methods.end()) {
    fmt::print(stderr, "{}\n", kUncheckedWarning);
  }
  std::string mistakes;
  std::vector<conform::Program> programs = load_programs(options.paths, mistakes);
  if (programs.empty()) throw Error(ErrorKind::user, mistakes);  // each line names its stage
  check_output(options.jsonl, "conform",
               std::vector<std::filesystem::path>(options.paths.begin(), options.paths.end()));
  const bool lines_alone = is_standard_output(options.jsonl);
  // Written as they come, so that those before a crash are there.
  std::ofstream file;
  if (!options.jsonl.empty() && !lines_alone) {
    file.open(options.jsonl, std::ios::trunc);
    if (!file) fail(ErrorKind::io, "[conform] cannot write {}: {}", options.jsonl, std::strerror(errno));
  }
  std::ostream& lines = lines_alone ? std::cout : file;
  using conform::Rows;
  conform::Report report(methods, lines_alone ? Rows::none : options.quiet ? Rows::not_fine : Rows::all);
  for (const conform::Program& program : programs) {
    std::vector<conform::Judgement> judgements;
    for (Method method : methods) {
      if (stop_requested()) throw Interrupted{"running programs; result lines end with the last whole one"};
      conform::Outcome outcome = conform::run_program(program, method, options.seed);
      judgements.push_back(conform::judge(program, outcome));
      if (!options.jsonl.empty()) lines << conform::result_line(program, method, outcome, judgements.back()) << '\n';
    }
    report.add(program, judgements);
  }
  report.print_summary();
  if (!options.jsonl.empty() && !lines.flush())
    fail(ErrorKind::io, "[conform] cannot write all of {}", lines_alone ? "the standard output" : options.jsonl);
  if (!mistakes.empty()) throw Error(ErrorKind::user, mistakes);  // each line names its stage
  return report.fine() ? 0 : 1;
}

}  // namespace

Verb conform_verb() {
  return {"conform", "run conformance programs under each method", kConformHelp, [](Command& app) -> VerbAction {
            auto options = std::make_shared<ConformOptions>();
            app.add_option("paths", options->paths, "program files, or folders of them")
                .option_text("FILE_OR_FOLDER...")
                .required();
            app.add_option("--method", options->methods, "methods, separated by commas (retain,whole,region,mixed)")
                .option_text("M[,M...]");
            app.add_option("--jsonl", options->jsonl,
                           "write one result line per program and method (-: alone, to the standard output)")
                .option_text("OUT");
            app.add_option("--seed", options->seed, "seed of method mixed (1)").option_text("N");
            app.add_flag("--quiet", options->quiet, "print only programs that are not fine, and the counts");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
