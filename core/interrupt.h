// The polite stop: the first SIGINT, SIGTERM or SIGHUP asks the program to finish its step, a second one ends it at
// once.
//
// The program installs the handler; the trainer and other long loops look at stop_requested() between steps, and a
// tape that was given it (Tape::set_stop; the trainer's is not) between nodes of a backward. Library code never exits
// by itself.
#pragma once

namespace reprise {

/// The exit code of a program that was asked to stop and did.
constexpr int kInterruptedExitCode = 130;

/// Handles SIGINT, SIGTERM and (unless it is ignored) SIGHUP from here on, in a thread made for it: they are blocked in
/// the calling thread and in those it makes later. SIGPIPE and SIGXFSZ are ignored, so that writes to a closed pipe, or
/// beyond the largest file that is allowed, fail instead. Called once, by the program, before it makes threads.
void install_stop_handler();

/// Lets a forked child have the signals again, since a program inherits what is blocked or ignored. For use between
/// fork and exec.
void restore_signals_for_exec();

/// Whether somebody asked to stop.
bool stop_requested();

/// Thrown by a long loop with nothing to save that finds stop_requested(), and by a backward, which can be called
/// again; the program then exits with kInterruptedExitCode. `doing` says what was cut short: "profiling".
struct Interrupted {
  const char* doing;
};

/// Asks to stop as a signal would; for tests and for programs that embed the library.
void request_stop();
void clear_stop_request();

}  // namespace reprise
