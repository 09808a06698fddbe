#include "tools/bench/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "tools/bench/measure.h"
#include "tools/process/memory_file.h"
#include "tools/process/own_program.h"

extern char** environ;

namespace reprise::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::string last_words(const std::string& text) {
  std::string line = process::last_line(text);
  return line.empty() ? "it said nothing" : line;
}

}  // namespace

Child run_child(const std::vector<std::string>& argv) {
  process::MemoryFile output("output", "bench"), errors("errors", "bench");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.descriptor(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), 2);
  // What this program blocks or ignores (core/interrupt.h), the child has.
  posix_spawnattr_t attributes;
  sigset_t none, pipe;
  ::sigemptyset(&none);
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &pipe);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  double start = wall_seconds();
  pid_t process = 0;
  int error = ::posix_spawnp(&process, pointers[0], &actions, &attributes, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(ErrorKind::user, "[bench] cannot start {}: {}", argv[0], std::strerror(error));
  int status = 0;
  rusage used{};
  while (::wait4(process, &status, 0, &used) < 0 && errno == EINTR) {
  }
  Child child;
  child.wall = wall_seconds() - start;
  child.cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
  child.peak_mib = static_cast<double>(used.ru_maxrss) / 1024.0;
  child.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  child.output = output.text();
  child.errors = errors.text();
  return child;
}

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

Json last_json_line(const Child& child, const std::string& what) {
  Json parsed = process::last_json(child.output);
  if (parsed.is_discarded())
    fail(ErrorKind::internal, "[bench] expected a line of JSON from {}, got: {}", what, last_words(child.output));
  return parsed;
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
  return last_json_line(child, script);
}

}  // namespace reprise::bench
