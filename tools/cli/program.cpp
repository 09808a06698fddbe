#include "tools/cli/program.h"

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "core/interrupt.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kDescription =
    "Trains neural networks with activation recomputation that is correct by construction: values are recomputed, "
    "state is restored, effects happen once.";

constexpr const char* kFooter = R"(Examples:
  reprise train configs/cifar100_dense_queue.yaml
      trains a contrastive encoder on images it makes itself, probes it, and leaves a run folder in runs/
  reprise train configs/cifar100_dense_queue.yaml data.path=cifar-100-binary.tar.gz train.epochs=20
      the same on the real images, for 20 epochs
  reprise config configs/cifar100_dense_queue.yaml train.lr=0.05
      prints every key of the run; `reprise config --reference` explains them

Exit codes: 0 done, 1 failure, 2 a mistake in what was asked for, 130 interrupted (the run can be resumed).
`reprise VERB --help` explains a verb.)";

/// Texts may quote names from files of anybody: what a terminal would take for a command is written out, and what would
/// fill pages is cut.
std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 8000;
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < kMost; ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    bool high =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;  // U+0080 to U+009F
    if (high) byte = static_cast<unsigned char>(text[++i]);
    if (high || (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += static_cast<char>(byte);
  }
  return out.size() < kMost ? out : out + " ...";
}

void print_error(const char* kind, const std::string& text) {
  std::fprintf(stderr, "error (%s): %s\n", kind, printable(text).c_str());
}

struct Program {
  CLI::App app{kDescription, "reprise"};
  std::vector<Verb> verbs = all_verbs();
  std::vector<VerbAction> actions;
  std::vector<CLI::App*> commands;
};

void build(Program& program) {
  program.app.footer(kFooter);
  program.app.set_version_flag("--version", "reprise " REPRISE_VERSION);
  program.app.require_subcommand(0, 1);
  for (const Verb& verb : program.verbs) {
    CLI::App* command = program.app.add_subcommand(verb.name, verb.summary);
    command->footer(verb.help);
    Command options(*command);
    program.actions.push_back(verb.setup(options));
    program.commands.push_back(command);
  }
}

/// A first word that is no verb gets a better answer than the parser's.
void refuse_unknown_verb(const Program& program, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  Words names;
  for (const Verb& verb : program.verbs) names.push_back(verb.name);
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  std::string nearest = nearest_name(argv[1], names);
  fail(ErrorKind::user, "[reprise] expected a verb, got {}. {}", quoted_for_message(argv[1]),
       nearest.empty() ? "`reprise --help` lists the verbs" : "Nearest is " + nearest);
}

int run_parsed(Program& program) {
  for (std::size_t i = 0; i < program.commands.size(); ++i) {
    if (program.commands[i]->parsed()) return program.actions[i]();
  }
  std::fputs(program.app.help().c_str(), stderr);
  return 2;
}

/// What the parser complains of, in the words of all other errors. An argument is called as the help calls it.
std::string mistake_text(std::string text, const CLI::App& command) {
  auto replace = [&](std::string_view from, std::string_view to) {
    std::size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return at != std::string::npos;
  };
  constexpr std::string_view kRequired = " is required";
  if (text.ends_with(kRequired)) {
    text.resize(text.size() - kRequired.size());
    const CLI::Option* option = command.get_option_no_throw(text);
    return fmt::format("expected {}, got none",
                       option && !option->get_option_text().empty() ? option->get_option_text() : text);
  }
  replace("Could not convert: ", "expected a whole number, got ");  // only numbers are converted
  replace("The following argument was not expected: ", "expected no such argument: ");
  replace("The following arguments were not expected: ", "expected no such arguments: ");
  replace(": 1 required TEXT missing", ": expected a value, got none");
  if (replace(": Value ", ": expected a whole number in range, got "))
    replace(" not in range ", ", which is not from ");
  if (replace(": At least ", ": expected at least ")) replace(" required but received ", ", got ");
  return text;
}

int parse_and_run(int argc, const char* const* argv) {
  Program program;
  build(program);
  refuse_unknown_verb(program, argc, argv);
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.app.exit(error);  // --help, --version
    bool any = !program.app.get_subcommands().empty();
    const CLI::App& command = any ? *program.app.get_subcommands().front() : program.app;
    std::string verb = any ? " " + command.get_name() : "";
    fail(ErrorKind::user, "[reprise{}] {}. `reprise{} --help` shows what it takes", verb,
         mistake_text(error.what(), command), verb);
  }
  return run_parsed(program);
}

/// Whether the standard output is a pipe that nobody reads any more, as behind `| head`.
bool output_is_closed_pipe() {
  ::pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

/// Output that did not reach its end (a full disk behind a redirection) is a failure, whatever the verb says. A reader
/// that has gone knows that by itself, but for one of a training, which may not know how the run ended.
int close_output(int code, bool trains) {
  bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!lost || code != 0) return code;
  if (trains || !output_is_closed_pipe()) print_error("io", "cannot write all of the standard output");
  return 1;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  try {
    install_stop_handler();
    set_command_line(argc, argv);
    bool trains = argc > 1 && std::string_view(argv[1]) == "train";
    return close_output(parse_and_run(argc, argv), trains);
  } catch (const Error& error) {
    std::fflush(stdout);
    print_error(to_string(error.kind()), error.what());
    return exit_code(error.kind());
  } catch (const Interrupted& stop) {
    std::fflush(stdout);
    std::fprintf(stderr, "interrupted while %s\n", stop.doing);
    return kInterruptedExitCode;
  } catch (const std::system_error& error) {  // threads that cannot be made, and output that cannot be printed
    if (error.code() == std::errc::resource_unavailable_try_again) {
      print_error("memory", "no more threads can be made. take fewer by threads=N, or raise the limit (ulimit -u)");
    } else if (!output_is_closed_pipe()) {
      print_error("io", error.what());
    }
  } catch (const std::bad_alloc&) {
    print_error("memory", "the machine has no memory left for this run");
  } catch (const std::exception& error) {
    print_error("internal", error.what());
  }
  return 1;
}

}  // namespace reprise
