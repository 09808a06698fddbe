#include "tools/cli/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

struct CompletedOption {
  std::vector<std::string> names;  // "-o", "--output"
  std::string help;
  bool takes_value = false;
  Words values;  // that it chooses from; empty: files
};

struct CompletedVerb {
  std::string name, summary;
  std::vector<CompletedOption> options;
  Words arguments;        // that its first argument chooses from; empty: files
  std::vector<Key> keys;  // of key=value
};

/// What one_of() and suggest() left behind the type: "TEXT:{small,resnet18}".
Words values_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  std::size_t begin = type.find('{'), end = type.find('}');
  Words values;
  if (begin == std::string::npos || end == std::string::npos) return values;
  std::istringstream in(type.substr(begin + 1, end - begin - 1));
  for (std::string value; std::getline(in, value, ',');) values.push_back(value);
  return values;
}

std::vector<CompletedVerb> completed_verbs() {
  std::vector<CompletedVerb> all;
  for (const Verb& verb : all_verbs()) {
    CLI::App app;
    Command command(app);
    VerbAction action = verb.setup(command);  // holds what the options write to
    CompletedVerb completed{verb.name, verb.summary, {}, {}, {}};
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional()) {
        bool keys = option->get_option_text().find("key=value") != std::string::npos;
        if (keys) completed.keys = verb.schema().all_keys().keys();
        if (completed.arguments.empty()) completed.arguments = values_of(*option);
      }
      if (option->get_group().empty()) continue;  // hidden
      CompletedOption one;
      for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
      one.help = option->get_description();
      one.takes_value = option->get_items_expected_max() > 0;
      one.values = values_of(*option);
      if (!one.names.empty()) completed.options.push_back(std::move(one));
    }
    all.push_back(std::move(completed));
  }
  return all;
}

std::string joined_by(const std::string& separator, const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

/// The keys in a row, with the verbs that take these and no others: most verbs take those of a run.
std::vector<std::pair<std::string, Words>> key_rows(const std::vector<CompletedVerb>& verbs) {
  std::vector<std::pair<std::string, Words>> rows;
  for (const CompletedVerb& verb : verbs) {
    if (verb.keys.empty()) continue;
    std::string row;
    for (const Key& key : verb.keys) row += (row.empty() ? "" : " ") + key.name + "=";
    auto same = std::find_if(rows.begin(), rows.end(), [&](const auto& known) { return known.first == row; });
    if (same == rows.end()) {
      rows.emplace_back(row, Words());
      same = rows.end() - 1;
    }
    same->second.push_back(verb.name);
  }
  return rows;
}

/// What may stand behind the = of each key that has a choice, and the keys whose value may name a file.
struct KeyValues {
  std::vector<std::pair<std::string, Words>> choices;
  Words files;
};

KeyValues key_values(const std::vector<CompletedVerb>& verbs) {
  KeyValues all;
  Words seen;
  for (const CompletedVerb& verb : verbs) {
    for (const Key& key : verb.keys) {
      if (std::find(seen.begin(), seen.end(), key.name) != seen.end()) continue;
      seen.push_back(key.name);
      if (key.type == KeyType::text) all.files.push_back(key.name + "=");
      Words choices = key.type == KeyType::boolean ? Words{"true", "false"} : key.choices;
      if (key.type != KeyType::map && !choices.empty()) all.choices.emplace_back(key.name + "=", choices);
    }
  }
  return all;
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

/// Cases of "VERB PREVIOUS-WORD" behind which there is a choice.
std::string bash_choices(const std::vector<CompletedVerb>& verbs) {
  std::string cases;
  auto add = [&](const CompletedVerb& verb, const std::string& word, const Words& values) {
    if (values.empty()) return;
    cases += fmt::format("    '{} {}') values='{}' ;;\n", verb.name, word, joined_by(" ", values));
  };
  for (const CompletedVerb& verb : verbs) {
    add(verb, verb.name, verb.arguments);
    for (const CompletedOption& option : verb.options) {
      for (const std::string& name : option.names) add(verb, name, option.values);
    }
  }
  return cases;
}

/// Files are what most arguments are, so they are offered wherever nothing better is known.
std::string for_bash(const std::vector<CompletedVerb>& verbs) {
  std::string names, options, keys, key_choices;
  for (const CompletedVerb& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    options += fmt::format("    {}) options='{}' ;;\n", verb.name, options_in_a_row(verb));
  }
  for (const auto& [row, takers] : key_rows(verbs))
    keys += fmt::format("    {}) keys='{}' ;;\n", joined_by("|", takers), row);
  KeyValues of_keys = key_values(verbs);
  for (const auto& [key, choices] : of_keys.choices)
    key_choices += fmt::format("      {}) values='{}' ;;\n", key, joined_by(" ", choices));
  return fmt::format(R"(# Completion of reprise for bash: source this file, or put it into
# ~/.local/share/bash-completion/completions/reprise
_reprise() {{
  local word=$2 verb=${{COMP_WORDS[1]}} options='' keys='' values='' key=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{0} --help --version' -- "$word")
    return
  fi
  case $verb in
{1}  esac
  case $verb in
{2}  esac
  case "$verb ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{3}  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  if [[ -n $keys && $word == *=* ]]; then
    key=${{word%%=*}}=
    word=${{word#*=}}
    case $key in
{4}      {5})
        mapfile -t COMPREPLY < <(compgen -P "$key" -f -- "$word")
        if [[ ${{#COMPREPLY[@]}} == 1 && -d ${{COMPREPLY[0]#*=}} ]]; then
          COMPREPLY[0]+=/
          compopt -o nospace
        fi
        return ;;
    esac
  fi
  if [[ -n $values || -n $key ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$key" -W "$values" -- "$word")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$keys" -- "$word"; compgen -f -- "$word")
  if [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *= ]]; then compopt -o nospace; else compopt -o filenames; fi
}}
COMP_WORDBREAKS=${{COMP_WORDBREAKS//=}}
complete -F _reprise reprise
)",
                     names, options, keys, bash_choices(verbs), key_choices, joined_by("|", of_keys.files));
}

/// What follows in a word of zsh's _arguments: the values to choose from, or files.
std::string zsh_values(const Words& values) { return values.empty() ? "_files" : "(" + joined_by(" ", values) + ")"; }

/// One word of zsh's _arguments: --name[help]:value:_files
std::string zsh_option(const CompletedOption& option, const std::string& name) {
  std::string help;
  for (char c : option.help)
    help += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return fmt::format("'{}[{}]{}'", name, quoted(help, "'\\''"),
                     option.takes_value ? ":value:" + zsh_values(option.values) : "");
}

std::string for_zsh(const std::vector<CompletedVerb>& verbs) {
  std::string names, cases, keys, key_choices;
  for (const CompletedVerb& verb : verbs) {
    names += fmt::format("    '{}:{}'\n", verb.name, quoted(verb.summary, "'\\''"));
    cases += fmt::format("    {})\n      _arguments", verb.name);
    for (const CompletedOption& option : verb.options) {
      for (const std::string& name : option.names) cases += " \\\n        " + zsh_option(option, name);
    }
    if (!verb.arguments.empty()) cases += fmt::format(" \\\n        '1:argument:{}'", zsh_values(verb.arguments));
    cases +=
        verb.keys.empty() ? " \\\n        '*:file:_files' ;;\n" : " \\\n        '*:argument:_reprise_arguments' ;;\n";
  }
  for (const auto& [row, takers] : key_rows(verbs))
    keys += fmt::format("    {}) keys=({}) ;;\n", joined_by("|", takers), row);
  KeyValues of_keys = key_values(verbs);
  for (const auto& [key, choices] : of_keys.choices)
    key_choices += fmt::format("      {}) compadd -- {} ;;\n", key, joined_by(" ", choices));
  return fmt::format(R"(#compdef reprise
# Completion of reprise for zsh: put this file as _reprise into a folder of $fpath.
_reprise_arguments() {{
  local -a keys
  if compset -P '*='; then
    case $IPREFIX in
{2}      {3}) _files ;;
    esac
    return
  fi
  case $verb in
{4}  esac
  compadd -S '' -- $keys
  _files
}}
_reprise() {{
  local -a verbs
  verbs=(
{0}  )
  if ((CURRENT == 2)); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
{1}  esac
}}
if [[ $funcstack[1] == _reprise ]]; then _reprise "$@"; else compdef _reprise reprise; fi
)",
                     names, cases, key_choices, joined_by("|", of_keys.files), keys);
}

std::string fish_names(const CompletedOption& option) {
  std::string text;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return text;
}

/// For the verbs of these names: "complete -c reprise -n '...'", with one more condition where there is one.
std::string fish_line(const Words& verbs, const std::string& condition = "") {
  return fmt::format("complete -c reprise -n '__fish_seen_subcommand_from {}{}'", joined_by(" ", verbs), condition);
}

std::string for_fish(const std::vector<CompletedVerb>& verbs) {
  std::string text = "# Completion of reprise for fish: put this file into ~/.config/fish/completions/reprise.fish\n";
  Words takers;
  for (const CompletedVerb& verb : verbs) {
    text += fmt::format("complete -c reprise -n __fish_use_subcommand -f -a {} -d '{}'\n", verb.name,
                        quoted(verb.summary, "\\'"));
    if (!verb.keys.empty()) takers.push_back(verb.name);
  }
  for (const CompletedVerb& verb : verbs) {
    for (const CompletedOption& option : verb.options) {
      std::string value = option.values.empty() ? " -r" : fmt::format(" -x -a '{}'", joined_by(" ", option.values));
      text += fmt::format("{}{}{} -d '{}'\n", fish_line({verb.name}), fish_names(option),
                          option.takes_value ? value : "", quoted(option.help, "\\'"));
    }
    if (!verb.arguments.empty())
      text += fmt::format("{} -f -a '{}'\n", fish_line({verb.name}), joined_by(" ", verb.arguments));
  }
  for (const auto& [row, names] : key_rows(verbs)) text += fmt::format("{} -a '{}'\n", fish_line(names), row);
  for (const auto& [key, choices] : key_values(verbs).choices) {
    std::string typed = fmt::format("; and string match -q \"{}*\" -- (commandline -ct)", key);
    text += fmt::format("{} -f -a '{}{}'\n", fish_line(takers, typed), key, joined_by(" " + key, choices));
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
