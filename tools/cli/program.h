// The program as a function, so that main() is one line and a program with models of its own can use the same command
// line: register_model(...), then run_program(argc, argv).
#pragma once

namespace reprise {

/// Reads the command line, runs the verb, prints errors on standard error. Returns the exit code: 0, 1 failure, 2 the
/// user's mistake, 130 interrupted. Never throws.
int run_program(int argc, const char* const* argv);

}  // namespace reprise
