#include "tests/support/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

namespace reprise::testing {
namespace {

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

[[noreturn]] void become_program(std::vector<std::string>& arguments) {
  int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, 0), ::dup2(null, 1), ::dup2(null, 2);
  std::vector<char*> words;
  std::string program = REPRISE_BINARY;
  words.push_back(program.data());
  for (std::string& a : arguments) words.push_back(a.data());
  words.push_back(nullptr);
  ::execv(REPRISE_BINARY, words.data());
  ::_exit(127);
}

}  // namespace

Outcome run_shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) outcome.text.append(buffer.data(), got);
  outcome.code = code_of(::pclose(pipe));
  return outcome;
}

std::string shell_word(const std::string& text) { return "'" + text + "'"; }

std::string program_word() { return shell_word(REPRISE_BINARY); }

Outcome reprise(const std::string& arguments, const std::string& redirection) {
  return run_shell(program_word() + " " + arguments + " " + redirection);
}

Child run_program(std::vector<std::string> arguments, double kill_after, int signal) {
  auto start = std::chrono::steady_clock::now();
  pid_t child = ::fork();
  if (child == 0) become_program(arguments);
  int status = 0;
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (kill_after >= 0) {
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (elapsed() >= kill_after) {
        ::kill(child, signal);
        ::waitpid(child, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } else {
    ::waitpid(child, &status, 0);
  }
  return {code_of(status), elapsed()};
}

}  // namespace reprise::testing
