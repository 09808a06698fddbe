// The built program in a child process, as a person or a script meets it: by the shell, or as a process that gets a
// signal after some time. Called by end-to-end tests; the target "all" builds the program too.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/text.h"

namespace reprise::testing {

struct Outcome {
  int code = -1;     // exit code, or 128 + signal
  std::string text;  // what the command wrote to its standard output
};

/// Runs a command by the shell.
Outcome run_shell(const std::string& command);

/// Text as one word of the shell, whatever it holds but single quotes.
std::string shell_word(const std::string& text);

/// The program's path as one word of the shell.
std::string program_word();

/// Runs the program by the shell; its standard error is in the text too unless `redirection` says otherwise.
Outcome reprise(const std::string& arguments, const std::string& redirection = "2>&1");

/// Expects that a command was refused: exit code 2, and `says` in its text.
void expect_refused(const Outcome& outcome, const std::string& says);

struct Measured {
  Outcome outcome;  // with standard error in the text
  double seconds = 0;
  std::int64_t peak_bytes = 0;  // highest resident size of the command and what it waited for
};

/// The same without input, with what it took.
Measured measure_shell(const std::string& command);

struct Child {
  int code = -1;  // as in Outcome
  double seconds = 0;
};

/// Runs the program without input and output; after `kill_after` seconds (if not negative) it gets `signal`.
Child run_program(std::vector<std::string> arguments, double kill_after = -1, int signal = SIGKILL);

/// Runs the program the same way and sends `signal`, once, when `ready` says so. Returns the code as in Outcome.
int signal_program(std::vector<std::string> arguments, int signal, const std::function<bool()>& ready);

}  // namespace reprise::testing
