// The polite stop: the first signal is a request, the second ends the process at once.
#include "core/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace reprise {
namespace {

bool asked_within_seconds(int seconds) {
  for (int i = 0; i < seconds * 1000 && !stop_requested(); ++i) ::usleep(1000);
  return stop_requested();
}

bool takes(int signal) {
  sigset_t blocked;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  return ::sigismember(&blocked, signal) == 0;
}

TEST(Interrupt, TheFirstSignalAsksAndTheSecondEnds) {
  pid_t child = ::fork();
  if (child == 0) {
    install_stop_handler();
    if (stop_requested()) ::_exit(1);
    ::kill(::getpid(), SIGINT);
    if (!asked_within_seconds(10)) ::_exit(2);
    ::kill(::getpid(), SIGTERM);
    ::sleep(10);
    ::_exit(3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kInterruptedExitCode);
}

TEST(Interrupt, ThreadsThatComputeNeverRunTheHandler) {
  pid_t child = ::fork();
  if (child == 0) {
    install_stop_handler();
    bool worker_takes = true;
    std::thread([&] { worker_takes = takes(SIGINT) || takes(SIGTERM); }).join();
    if (worker_takes || takes(SIGINT) || takes(SIGTERM)) ::_exit(1);
    ::kill(::getpid(), SIGTERM);
    if (!asked_within_seconds(10)) ::_exit(2);
    restore_signals_for_exec();
    ::_exit(takes(SIGINT) && takes(SIGTERM) ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Interrupt, ARequestCanBeTakenBack) {
  request_stop();
  EXPECT_TRUE(stop_requested());
  clear_stop_request();
  EXPECT_FALSE(stop_requested());
}

}  // namespace
}  // namespace reprise
