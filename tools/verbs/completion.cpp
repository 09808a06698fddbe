// `reprise completion`: the script that lets a shell complete verbs, options and keys.
#include <cstdio>
#include <memory>

#include "tools/cli/completion.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kCompletionHelp =
    R"(Prints a script that makes the shell complete verbs, options, keys of the configuration and what they choose from after
the Tab key.

Examples:
  source <(reprise completion bash)                                             for this shell
  reprise completion bash > ~/.local/share/bash-completion/completions/reprise  for every new one
  reprise completion zsh > ~/.zfunc/_reprise                                    a folder of $fpath
  reprise completion fish > ~/.config/fish/completions/reprise.fish)";

}  // namespace

Verb completion_verb() {
  return {"completion", "print the completion script of a shell", kCompletionHelp, [](Command& app) -> VerbAction {
            auto shell = std::make_shared<std::string>();
            app.add_option("shell", *shell, "bash, zsh or fish")
                .option_text("bash|zsh|fish")
                .suggest({"bash", "zsh", "fish"})
                .required();
            return [shell] {
              std::fputs(completion_script(*shell).c_str(), stdout);
              return 0;
            };
          }};
}

}  // namespace reprise
