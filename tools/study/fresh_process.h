// A fresh process of this program that does one piece of a study's work: what it reads comes as JSON on its input, what
// it found is the last line of its output. It dies with its parent. Called by the runner and the workshop.
#pragma once

#include <string>
#include <vector>

#include "models/run/json_text.h"
#include "tools/process/child.h"

namespace reprise::study {

/// How a process ended.
struct Ended {
  int code = -1;      // exit code, or 128 + signal
  int signal = 0;     // that killed it; 0: none
  Json answer;        // null where it gave none
  std::string words;  // last lines of its errors
  double elapsed_s = 0;
  bool ok() const { return code == 0 && !answer.is_null(); }
  /// "signal 9 (Killed)", "exit code 1", with the last words.
  std::string error() const;
};

class FreshProcess {
 public:
  /// Starts this program with `arguments` and `input` on its standard input; killed if it still runs at the end.
  /// Errors: those of process::Child.
  FreshProcess(const std::vector<std::string>& arguments, const Json& input);

  /// Whether it has ended; then `ended()` says how.
  bool poll();
  const Ended& ended() const { return ended_; }
  /// Readable when it has ended.
  int watch() const { return child_.watch(); }
  void kill();

 private:
  void take_answer();

  process::Child child_;
  bool answered_ = false;  // `ended_` is filled
  Ended ended_;
};

/// Sleeps until one of them has ended, a signal came, or half a second passed.
void wait_for_any(const std::vector<const FreshProcess*>& processes);

/// In the fresh process: the JSON on the standard input. Errors (user): none there.
Json read_work();
/// In the fresh process: prints the answer as the last line.
void print_answer(const Json& answer);

}  // namespace reprise::study
