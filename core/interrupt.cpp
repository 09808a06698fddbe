#include "core/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <system_error>
#include <thread>

namespace reprise {
namespace {

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void on_stop_signal(int) {
  if (g_stop.exchange(true)) {
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, "\n", 1);
    ::_exit(kInterruptedExitCode);
  }
}

sigset_t stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  return signals;
}

void set_handler() {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  // Interrupted system calls go on: a checkpoint that is being written is finished.
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  // Whoever starts a program under nohup wants it to outlive the terminal.
  if (::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
  // A write to a pipe that nobody reads is to fail, so that training can leave a checkpoint.
  ::signal(SIGPIPE, SIG_IGN);
  // So is one beyond the limit of file sizes (ulimit -f): the default is death without a word.
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace

// Note [Signals and borrowed stack pointers]
// Matrix products of oneDNN point the stack register into a buffer on the heap while they run. The kernel writes the
// frame of a handler (kilobytes, with the vector registers) below that register, so a signal in the middle of a product
// would overwrite whatever the heap holds there. Therefore no thread that computes ever runs a handler: the signals are
// blocked here, all threads made from now on inherit that (those that OpenMP and oneDNN start and end as they like
// too), and one thread that does nothing else takes them. A program that makes threads of its own before this call
// must block the signals in them.
void install_stop_handler() {
  sigset_t signals = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  set_handler();
  try {
    std::thread([signals] {
      ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
      while (true) ::pause();
    }).detach();
  } catch (const std::system_error&) {
    // Without room for one more thread, a stop that may fail is better than none.
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  }
}

void restore_signals_for_exec() {
  sigset_t signals = stop_signals();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
}

bool stop_requested() { return g_stop.load(std::memory_order_relaxed); }
void request_stop() { g_stop.store(true); }
void clear_stop_request() { g_stop.store(false); }

}  // namespace reprise
