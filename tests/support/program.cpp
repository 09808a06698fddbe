#include "tests/support/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "tests/support/temp_folder.h"

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

pid_t start_program(std::vector<std::string>& arguments) {
  pid_t child = ::fork();
  if (child == 0) become_program(arguments);
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// The status of a child that gets `signal`, once, when `ready` says so; it may end before, or go on for a while.
int signal_when(pid_t child, int signal, const std::function<bool()>& ready) {
  int status = 0;
  bool sent = false;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (!sent && ready()) sent = ::kill(child, signal) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
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

void expect_refused(const Outcome& outcome, const std::string& says) {
  EXPECT_EQ(outcome.code, 2) << says << "\n" << outcome.text.substr(0, 2000);
  EXPECT_PRED2(contains, outcome.text, says);
}

Measured measure_shell(const std::string& command) {
  TempFolder folder;
  const std::string output = folder / "output";
  auto start = std::chrono::steady_clock::now();
  pid_t child = ::fork();
  if (child == 0) {
    int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), in = ::open("/dev/null", O_RDONLY);
    ::dup2(in, 0), ::dup2(out, 1), ::dup2(out, 2);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::rusage usage{};
  ::wait4(child, &status, 0, &usage);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {{code_of(status), file_text(output)}, took.count(), usage.ru_maxrss * 1024};
}

Child run_program(std::vector<std::string> arguments, double kill_after, int signal) {
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  pid_t child = start_program(arguments);
  int status = kill_after < 0 ? wait_for(child) : signal_when(child, signal, [&] { return elapsed() >= kill_after; });
  return {code_of(status), elapsed()};
}

int signal_program(std::vector<std::string> arguments, int signal, const std::function<bool()>& ready) {
  return code_of(signal_when(start_program(arguments), signal, ready));
}

}  // namespace reprise::testing
