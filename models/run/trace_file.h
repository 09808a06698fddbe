// TraceFile: spans and counters of a short stretch of time, gathered in memory and written as Chrome's JSON trace
// events, which Perfetto (ui.perfetto.dev), chrome://tracing and the trace processor open.
//
// Used by models/train/step_tracer.h. Spans of one track nest: one that begins inside another ends inside it. Their
// number is limited; what comes after that is left out and the file says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "models/run/json_text.h"

namespace reprise {

/// Nanoseconds on a clock that never goes back.
std::int64_t trace_clock();

enum class TraceTrack : std::uint8_t { step, loader };

struct TraceSpan {
  std::string name;
  const char* category = "";
  std::int64_t begin = 0, end = 0;  // trace_clock()
  Json args;                        // null: none
};

class TraceFile {
 public:
  /// `most`: how many spans and counter values are kept.
  explicit TraceFile(std::size_t most = 200000);

  /// From any thread. Loses the span where memory has run out, rather than the run.
  void add(TraceTrack track, TraceSpan span) noexcept;
  /// A value of the counter with this name from `at` on. The name outlives the file. Values of one counter come in
  /// order.
  void count(const char* name, std::int64_t at, std::int64_t value) noexcept;

  std::int64_t left_out() const { return left_out_; }
  /// The whole file. `about` says what was traced.
  std::string text(const Json& about);

 private:
  struct CounterValue {
    const char* name;
    std::int64_t at, value;
  };
  bool room() { return spans_[0].size() + spans_[1].size() + counters_.size() < most_; }
  void print_spans(TraceTrack track, std::string& out);
  std::string stamp(std::int64_t at) const;

  std::mutex mutex_;
  std::size_t most_;
  std::int64_t start_, left_out_ = 0;
  std::vector<TraceSpan> spans_[2];
  std::vector<CounterValue> counters_;
};

}  // namespace reprise
