// What a person sees while a run works: one line rewritten in place on a terminal, plain lines elsewhere.
//
// The trainer calls update() at every step; only what is shown costs time. Numbers shown here are for people:
// metrics.jsonl has the exact ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace reprise {

enum class ProgressMode : std::uint8_t { automatic, line, plain, quiet };

struct ProgressState {
  std::string stage = "train";         // "train", "probe"
  std::int64_t epoch = 0, epochs = 0;  // the one under way, from 1; 0 epochs: not shown
  std::int64_t step = 0, steps = 0;    // done, of all
  double loss = 0;                     // mean since the last line of metrics
  double per_second = 0;               // 0: not shown; since then too
  std::int64_t peak_bytes = 0;         // 0: not shown
  double seconds_left = -1;            // below 0: not known
  const char* unit = "images";         // what per_second counts
};

/// "epoch 2/20 | step 90/1560 | loss 4.1234 | 812 images/s | peak 96.5 MiB | 3:04 left", shortened to fit `width`.
/// Fields are given up from the right, the stage and the step never.
std::string progress_text(const ProgressState& state, int width);

/// "3:04", "1:02:03".
std::string readable_seconds(double seconds);

/// Estimates the time left from the steps done since it was made.
class TimeLeft {
 public:
  explicit TimeLeft(std::int64_t first_step = 0);
  /// Below 0 before the second step.
  double seconds(std::int64_t step, std::int64_t steps) const;
  double elapsed() const;

 private:
  std::int64_t first_step_;
  std::chrono::steady_clock::time_point start_;
};

class Progress {
 public:
  /// `automatic` is a line when `out` is a terminal, else plain. Plain prints each `log_every`th step and the last.
  explicit Progress(ProgressMode mode = ProgressMode::automatic, std::int64_t log_every = 1, std::FILE* out = stdout);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(const ProgressState& state);
  /// Prints a line of its own; the progress line is taken away first and comes back with the next update.
  void note(const std::string& text);
  /// Ends the progress line, so that what follows starts on a fresh one.
  void finish();

  ProgressMode mode() const { return mode_; }

 private:
  int width() const;
  void clear_line();

  ProgressMode mode_;
  std::int64_t log_every_;
  std::FILE* out_;
  bool line_open_ = false;
  std::chrono::steady_clock::time_point last_shown_{};
};

}  // namespace reprise
