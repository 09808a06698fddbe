#include "tools/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/interrupt.h"

namespace reprise::process {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Where a child says why it could not become the program; closed by its becoming it.
struct Doubt {
  int read = -1, write = -1;

  explicit Doubt(const char* who) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      fail(ErrorKind::io, "[{}] cannot start a process: {}", who, std::strerror(errno));
    read = ends[0], write = ends[1];
  }
  ~Doubt() {
    ::close(read);
    if (write >= 0) ::close(write);
  }
  Doubt(const Doubt&) = delete;
  Doubt& operator=(const Doubt&) = delete;

  /// The error that it met; 0: none.
  int settle() {
    ::close(std::exchange(write, -1));
    int error = 0;
    ssize_t got = 0;
    while ((got = ::read(read, &error, sizeof error)) < 0 && errno == EINTR) {
    }
    return got == static_cast<ssize_t>(sizeof error) ? error : 0;
  }
};

/// Between fork and exec only what a signal handler might do.
[[noreturn]] void become(const std::vector<char*>& words, pid_t parent, const int (&files)[3], int doubt) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  for (int i = 0; i < 3; ++i) ::dup2(files[i], i);
  restore_signals_for_exec();
  ::execvp(words[0], words.data());
  int error = errno;
  [[maybe_unused]] ssize_t told = ::write(doubt, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& argv, const std::string& input, const char* who)
    : output_("output", who), errors_("errors", who) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  MemoryFile in("input", who);
  in.write(input);
  Doubt doubt(who);
  std::fflush(nullptr);
  pid_t parent = ::getpid();
  start_ = now();
  process_ = ::fork();
  if (process_ == 0) become(words, parent, {in.descriptor(), output_.descriptor(), errors_.descriptor()}, doubt.write);
  if (process_ < 0) fail(ErrorKind::io, "[{}] cannot start a process: {}", who, std::strerror(errno));
  running_ = true;
  if (int error = doubt.settle()) {
    reap(0);
    fail(ErrorKind::user, "[{}] cannot start {}: {}", who, argv[0], std::strerror(error));
  }
  watch_ = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
}

Child::~Child() {
  kill();
  if (watch_ >= 0) ::close(watch_);
}

void Child::kill() {
  if (!running_) return;
  ::kill(process_, SIGKILL);
  reap(0);
}

bool Child::poll() {
  if (running_) reap(WNOHANG);
  return !running_;
}

const Ended& Child::wait() {
  if (running_) reap(0);
  return ended_;
}

void Child::reap(int options) {
  int status = 0;
  rusage used{};
  pid_t got = 0;
  while ((got = ::wait4(process_, &status, options, &used)) < 0 && errno == EINTR) {
  }
  if (got == 0) return;
  running_ = false;
  ended_.wall = now() - start_;
  if (got > 0) {
    ended_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ended_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + ended_.signal;
    ended_.cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
    ended_.peak_mib = static_cast<double>(used.ru_maxrss) / 1024.0;
  }
  ended_.output = output_.text();
  ended_.errors = errors_.text();
}

}  // namespace reprise::process
