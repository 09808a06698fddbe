#include "tools/study/fresh_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/interrupt.h"

namespace reprise::study {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A file in memory, so that nobody has to read while the process runs.
int memory_file(const char* name) {
  int descriptor = ::memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0) fail(ErrorKind::io, "[study] cannot make a file in memory: {}", std::strerror(errno));
  return descriptor;
}

std::string contents_of(int descriptor) {
  std::string all;
  char buffer[16384];
  ssize_t got = 0;
  while ((got = ::pread(descriptor, buffer, sizeof buffer, static_cast<off_t>(all.size()))) > 0) {
    all.append(buffer, static_cast<std::size_t>(got));
  }
  return all;
}

/// The last lines of a text, at most `lines` of them and 1,000 bytes.
std::string last_lines(const std::string& text, int lines) {
  std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  std::size_t begin = end + 1;
  for (int i = 0; i < lines && begin > 0; ++i) {
    std::size_t before = text.rfind('\n', begin >= 2 ? begin - 2 : 0);
    begin = before == std::string::npos || begin < 2 ? 0 : before + 1;
  }
  constexpr std::size_t kMost = 1000;
  if (end + 1 - begin > kMost) begin = end + 1 - kMost;
  return text.substr(begin, end + 1 - begin);
}

std::string self() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) fail(ErrorKind::io, "[study] cannot find this program's own file: {}", error.message());
  return path;
}

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
  std::string program = self();
  std::vector<char*> words{program.data()};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int in = memory_file("input");
  output_ = memory_file("output");
  errors_ = memory_file("errors");
  std::string text = json_line(input);
  if (::pwrite(in, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    fail(ErrorKind::io, "[study] cannot write a process's input: {}", std::strerror(errno));
  }
  std::fflush(nullptr);
  pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(words, parent, in, output_, errors_);
  ::close(in);
  if (process_ < 0) fail(ErrorKind::io, "[study] cannot start a process: {}", std::strerror(errno));
  running_ = true;
  watch_ =
      static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));  // -1 on old kernels: then waiting is by time alone
}

FreshProcess::~FreshProcess() {
  kill();
  for (int descriptor : {watch_, output_, errors_}) {
    if (descriptor >= 0) ::close(descriptor);
  }
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
  Json answer;
  std::string printed = contents_of(output_);
  std::size_t end = printed.find_last_not_of(" \n");
  if (end != std::string::npos) {
    std::size_t begin = printed.rfind('\n', end);
    begin = begin == std::string::npos ? 0 : begin + 1;
    answer = Json::parse(printed.substr(begin, end + 1 - begin), nullptr, false);
  }
  ended_.answer = answer.is_object() ? std::move(answer) : Json();
  ended_.words = last_lines(contents_of(errors_), 4);
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
