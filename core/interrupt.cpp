#include "core/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

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

}  // namespace

void install_stop_handler() {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  // Interrupted system calls go on: a checkpoint that is being written is finished.
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool stop_requested() { return g_stop.load(std::memory_order_relaxed); }
void request_stop() { g_stop.store(true); }
void clear_stop_request() { g_stop.store(false); }

}  // namespace reprise
