// Child: a process that this program starts, itself again or another one, and what became of it. What it reads and what
// it says are files in memory, so nobody has to read while it runs. It dies with its parent. Called by benches, which
// measure it, and by studies, which run several.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tools/process/memory_file.h"

namespace reprise::process {

/// How a process ended.
struct Ended {
  int code = -1;   // exit code; 128 + the signal that ended it; -1: not known, the system keeps no account of it
  int signal = 0;  // that ended it; 0: none
  std::string output, errors;
  double wall = 0, cpu = 0;  // seconds, from start to end
  double peak_mib = 0;       // highest resident size
};

class Child {
 public:
  /// Starts argv[0], which is looked for in PATH, with `input` to read. `who` heads the errors. Errors: (user) it
  /// cannot be started; (io) no process can.
  Child(const std::vector<std::string>& argv, const std::string& input, const char* who);
  /// Kills it if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Whether it has ended; then `ended()` says how.
  bool poll();
  /// Waits for its end.
  const Ended& wait();
  void kill();
  const Ended& ended() const { return ended_; }
  /// Readable when it has ended; -1 where the system has no such thing: then waiting is by time alone.
  int watch() const { return watch_; }

 private:
  void reap(int options);

  pid_t process_ = -1;
  bool running_ = false;
  int watch_ = -1;
  double start_ = 0;
  MemoryFile output_, errors_;
  Ended ended_;
};

}  // namespace reprise::process
