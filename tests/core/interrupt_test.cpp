// The polite stop: the first signal is a request, the second ends the process at once.
#include "core/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reprise {
namespace {

TEST(Interrupt, TheFirstSignalAsksAndTheSecondEnds) {
  pid_t child = ::fork();
  if (child == 0) {
    install_stop_handler();
    if (stop_requested()) ::_exit(1);
    ::raise(SIGINT);
    if (!stop_requested()) ::_exit(2);
    ::raise(SIGTERM);
    ::_exit(3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kInterruptedExitCode);
}

TEST(Interrupt, ARequestCanBeTakenBack) {
  request_stop();
  EXPECT_TRUE(stop_requested());
  clear_stop_request();
  EXPECT_FALSE(stop_requested());
}

}  // namespace
}  // namespace reprise
