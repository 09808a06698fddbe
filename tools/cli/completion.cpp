#include "tools/cli/completion.h"

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

struct CompletedOption {
  std::vector<std::string> names;  // "-o", "--output"
  std::string help;
  bool takes_value = false;
};

struct CompletedVerb {
  std::string name, summary;
  std::vector<CompletedOption> options;
  bool takes_keys = false;  // key=value
};

std::vector<CompletedVerb> completed_verbs() {
  std::vector<CompletedVerb> all;
  for (const Verb& verb : all_verbs()) {
    CLI::App app;
    Command command(app);
    VerbAction action = verb.setup(command);  // holds what the options write to
    CompletedVerb completed{verb.name, verb.summary, {}, false};
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) {
        bool keys = option->get_option_text().find("key=value") != std::string::npos;
        completed.takes_keys = completed.takes_keys || keys;
      }
      if (option->get_group().empty()) continue;  // hidden
      CompletedOption one;
      for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
      one.help = option->get_description();
      one.takes_value = option->get_items_expected_max() > 0;
      if (!one.names.empty()) completed.options.push_back(std::move(one));
    }
    all.push_back(std::move(completed));
  }
  return all;
}

std::string keys_in_a_row() {
  std::string row;
  KeySet all = standard_schema().all_keys();
  for (const Key& key : all.keys()) row += (row.empty() ? "" : " ") + key.name + "=";
  return row;
}

/// Inside single quotes of a shell.
std::string quoted(const std::string& text, const std::string& quote) {
  std::string out;
  for (char c : text) out += c == '\'' ? quote : std::string(1, c);
  return out;
}

std::string options_in_a_row(const CompletedVerb& verb) {
  std::string row;
  for (const CompletedOption& option : verb.options) {
    for (const std::string& name : option.names) row += (row.empty() ? "" : " ") + name;
  }
  return row;
}

/// Files are what most arguments are, so they are offered wherever no option is being typed.
std::string for_bash(const std::vector<CompletedVerb>& verbs) {
  std::string names, options, keys;
  for (const CompletedVerb& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    options += fmt::format("    {}) options='{}' ;;\n", verb.name, options_in_a_row(verb));
    if (verb.takes_keys) keys += (keys.empty() ? "" : "|") + verb.name;
  }
  return fmt::format(R"(# Completion of reprise for bash: source this file, or put it into
# ~/.local/share/bash-completion/completions/reprise
_reprise() {{
  local word=$2 verb=${{COMP_WORDS[1]}} options='' keys=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$word")
    return
  fi
  case $verb in
{}  esac
  case $verb in
    {}) keys='{}' ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$keys" -- "$word"; compgen -f -- "$word")
  if [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *= ]]; then compopt -o nospace; else compopt -o filenames; fi
}}
COMP_WORDBREAKS=${{COMP_WORDBREAKS//=}}
complete -F _reprise reprise
)",
                     names, options, keys, keys_in_a_row());
}

/// One word of zsh's _arguments: --name[help]:value:_files
std::string zsh_option(const CompletedOption& option, const std::string& name) {
  std::string help;
  for (char c : option.help)
    help += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return fmt::format("'{}[{}]{}'", name, quoted(help, "'\\''"), option.takes_value ? ":value:_files" : "");
}

std::string for_zsh(const std::vector<CompletedVerb>& verbs) {
  std::string names, cases;
  for (const CompletedVerb& verb : verbs) {
    names += fmt::format("    '{}:{}'\n", verb.name, quoted(verb.summary, "'\\''"));
    cases += fmt::format("    {})\n      _arguments", verb.name);
    for (const CompletedOption& option : verb.options) {
      for (const std::string& name : option.names) cases += " \\\n        " + zsh_option(option, name);
    }
    cases +=
        verb.takes_keys ? " \\\n        '*:argument:_reprise_arguments' ;;\n" : " \\\n        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef reprise
# Completion of reprise for zsh: put this file as _reprise into a folder of $fpath.
_reprise_arguments() {{
  local -a keys
  keys=({})
  compadd -S '' -- $keys
  _files
}}
_reprise() {{
  local -a verbs
  verbs=(
{}  )
  if ((CURRENT == 2)); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
{}  esac
}}
if [[ $funcstack[1] == _reprise ]]; then _reprise "$@"; else compdef _reprise reprise; fi
)",
                     keys_in_a_row(), names, cases);
}

std::string fish_names(const CompletedOption& option) {
  std::string text;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return text;
}

std::string for_fish(const std::vector<CompletedVerb>& verbs) {
  std::string text = "# Completion of reprise for fish: put this file into ~/.config/fish/completions/reprise.fish\n";
  for (const CompletedVerb& verb : verbs) {
    text += fmt::format("complete -c reprise -n __fish_use_subcommand -f -a {} -d '{}'\n", verb.name,
                        quoted(verb.summary, "\\'"));
  }
  std::string keys = keys_in_a_row();
  for (const CompletedVerb& verb : verbs) {
    std::string when = fmt::format("complete -c reprise -n '__fish_seen_subcommand_from {}'", verb.name);
    for (const CompletedOption& option : verb.options) {
      text += fmt::format("{}{}{} -d '{}'\n", when, fish_names(option), option.takes_value ? " -r" : "",
                          quoted(option.help, "\\'"));
    }
    if (verb.takes_keys) text += fmt::format("{} -a '{}'\n", when, keys);
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return for_bash(completed_verbs());
  if (shell == "zsh") return for_zsh(completed_verbs());
  if (shell == "fish") return for_fish(completed_verbs());
  fail(ErrorKind::user, "[completion] expected one of bash, zsh, fish, got {}", quoted_for_message(shell));
}

}  // namespace reprise
