#include "tools/study/fresh_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "core/interrupt.h"
#include "tools/process/own_program.h"

namespace reprise::study {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Between fork and exec only what a signal handler might do.
[[noreturn]] void become(const std::vector<char*>& words, pid_t parent, int input, int output, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  ::dup2(input, 0);
  ::dup2(output, 1);
  ::dup2(errors, 2);
  restore_signals_for_exec();
  ::execv(words[0], words.data());
  ::_exit(127);
}

}  // namespace

std::string Ended::error() const {
  std::string how =
      signal != 0 ? fmt::format("signal {} ({})", signal, ::strsignal(signal)) : fmt::format("exit code {}", code);
  if (code == 0 && answer.is_null()) how += ", no line of JSON at the end of its output";
  return words.empty() ? how : how + ": " + words;
}

FreshProcess::FreshProcess(const std::vector<std::string>& arguments, const Json& input) : start_(now()) {
  std::string program = process::own_program(kWho);
  std::vector<char*> words{program.data()};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  process::MemoryFile in("input", kWho);
  in.write(json_line(input));
  std::fflush(nullptr);
  pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(words, parent, in.descriptor(), output_.descriptor(), errors_.descriptor());
  if (process_ < 0) fail(ErrorKind::io, "[study] cannot start a process: {}", std::strerror(errno));
  running_ = true;
  watch_ =
      static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));  // -1 on old kernels: then waiting is by time alone
}

FreshProcess::~FreshProcess() {
  kill();
  if (watch_ >= 0) ::close(watch_);
}

void FreshProcess::kill() {
  if (!running_) return;
  ::kill(process_, SIGKILL);
  reap(0);
}

bool FreshProcess::poll() {
  if (running_) reap(WNOHANG);
  return !running_;
}

void FreshProcess::reap(int options) {
  int status = 0;
  pid_t got = 0;
  while ((got = ::waitpid(process_, &status, options)) < 0 && errno == EINTR) {
  }
  if (got == 0) return;
  running_ = false;
  ended_.elapsed_s = now() - start_;
  ended_.signal = got > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ended_.code = got < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  Json answer = process::last_json(output_.text());
  ended_.answer = answer.is_object() ? std::move(answer) : Json();
  ended_.words = process::last_lines(errors_.text(), 4);
}

void wait_for_any(const std::vector<const FreshProcess*>& processes) {
  std::vector<pollfd> watched;
  for (const FreshProcess* process : processes) {
    if (process->watch() >= 0) watched.push_back({process->watch(), POLLIN, 0});
  }
  ::poll(watched.data(), watched.size(), watched.size() == processes.size() ? 500 : 50);
}

Json read_work() {
  std::string text;
  char buffer[16384];
  std::size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0) text.append(buffer, got);
  Json work = Json::parse(text, nullptr, false);
  if (!work.is_object())
    fail(ErrorKind::user, "[study] expected an object of JSON on the standard input, got something else");
  return work;
}

void print_answer(const Json& answer) {
  std::fflush(stdout);
  fmt::print("\n{}\n", json_line(answer));
}

}  // namespace reprise::study
