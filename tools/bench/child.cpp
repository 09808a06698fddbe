#include "tools/bench/child.h"

#include <filesystem>

#include "tools/process/own_program.h"

namespace reprise::bench {
namespace {

std::string last_words(const std::string& text) {
  std::string line = process::last_line(text);
  return line.empty() ? "it said nothing" : line;
}

}  // namespace

Child run_child(const std::vector<std::string>& argv) { return process::Child(argv, "", "bench").wait(); }

Child run_self(std::vector<std::string> arguments) {
  std::string self = process::own_program("bench");
  std::string what = arguments.empty() ? self : arguments.front();
  arguments.insert(arguments.begin(), self);
  Child child = run_child(arguments);
  if (child.code != 0) {
    fail(ErrorKind::internal, "[bench] this program, started again as '{}', ended with {}: {}", what, child.code,
         last_words(child.errors));
  }
  return child;
}

Json last_json_line(const Child& child, const std::string& what, ErrorKind kind) {
  Json parsed = process::last_json(child.output);
  if (parsed.is_discarded())
    fail(kind, "[bench] expected a line of JSON from {}, got: {}", what, last_words(child.output));
  return parsed;
}

const Json& item_at(const Json& printed, const std::string& script, std::initializer_list<const char*> keys) {
  const Json* at = &printed;
  std::string place;
  for (const char* key : keys) {
    place += (place.empty() ? "" : ".") + std::string(key);
    if (!at->is_object() || !at->contains(key))
      fail(ErrorKind::user, "[bench] expected '{}' in what the peer's {} printed, got none", place, script);
    at = &at->at(key);
  }
  return *at;
}

const Json& list_at(const Json& printed, const std::string& script, const char* key) {
  const Json& item = item_at(printed, script, {key});
  if (!item.is_array()) {
    fail(ErrorKind::user, "[bench] expected a list '{}' in what the peer's {} printed, got {}", key, script,
         item.type_name());
  }
  return item;
}

double number_at(const Json& printed, const std::string& script, std::initializer_list<const char*> keys) {
  const Json& item = item_at(printed, script, keys);
  if (!item.is_number()) {
    fail(ErrorKind::user, "[bench] expected a number as '{}' in what the peer's {} printed, got {}", *(keys.end() - 1),
         script, item.type_name());
  }
  return item.get<double>();
}

void Peer::require(const std::string& script) const {
  std::filesystem::path path = std::filesystem::path(folder) / script;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    fail(ErrorKind::user,
         "[bench] expected the peer's script {}, there is none. Give the folder with --peers, or in REPRISE_SHARED",
         path.string());
  }
  Child child = run_child({python, "-c", "import torch, numpy"});
  if (child.code != 0) {
    fail(ErrorKind::user, "[bench] expected a Python with torch and numpy in --peer, got {}: {}", python,
         last_words(child.errors));
  }
}

Json Peer::run(const std::string& script, const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment) const {
  std::vector<std::string> argv = environment;
  if (!argv.empty()) argv.insert(argv.begin(), "env");
  argv.insert(argv.end(), {python, (std::filesystem::path(folder) / script).string()});
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Child child = run_child(argv);
  if (child.code != 0)
    fail(ErrorKind::user, "[bench] the peer's {} ended with {}: {}", script, child.code, last_words(child.errors));
  return last_json_line(child, "the peer's " + script, ErrorKind::user);
}

}  // namespace reprise::bench
