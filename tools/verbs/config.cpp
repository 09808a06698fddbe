// `reprise config`: the resolved configuration of a run, or the reference of all keys.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "models/config/reference.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kConfigHelp =
    R"(Prints every key of a run with the value it would have, as YAML that loads back to the same.
key=value sets a key, +key=value one that the file does not set, ~key puts one back to its default. A value may be a
word, 'a quoted text', a list [a,b] or a map {pattern: option}; quote it for the shell.

Examples:
  reprise config configs/cifar100_dense_queue.yaml train.lr=0.05 'recompute.options={head: retain}'
  reprise config --sources model.type=classifier       where each value comes from
  reprise config --reference                           every key: type, unit, default, range, meaning)";

struct ConfigOptions {
  ConfigArguments arguments;
  bool reference = false;
  bool markdown = false;
  bool sources = false;
};

int terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

int run(const ConfigOptions& options) {
  std::string text;
  if (options.reference || options.markdown) {
    if (!options.arguments.empty())
      fail(ErrorKind::user, "[config] expected --reference alone, got a configuration too");
    text =
        options.markdown ? reference_markdown(standard_schema()) : reference_text(standard_schema(), terminal_width());
  } else {
    text = options.arguments.load().to_yaml(options.sources);
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

Verb config_verb() {
  return {"config", "print the resolved configuration, or explain every key", kConfigHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<ConfigOptions>();
            options->arguments.add_to(app);
            app.add_flag("--reference", options->reference, "explain every key");
            app.add_flag("--markdown", options->markdown, "the reference as Markdown");
            app.add_flag("--sources", options->sources, "say behind each value where it comes from");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
