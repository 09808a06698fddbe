#include "models/run/trace_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace reprise {
namespace {

constexpr int kProcess = 1;

int thread_number(TraceTrack track) { return static_cast<int>(track) + 1; }

std::string name_event(const char* what, int thread, const char* name) {
  return fmt::format(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": "{}"}}}})", what, kProcess,
                     thread, name);
}

}  // namespace

std::int64_t trace_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TraceFile::TraceFile(std::size_t most) : most_(most), start_(trace_clock()) {}

void TraceFile::add(TraceTrack track, TraceSpan span) noexcept try {
  std::lock_guard lock(mutex_);
  if (room()) {
    spans_[static_cast<std::size_t>(track)].push_back(std::move(span));
  } else {
    ++left_out_;
  }
} catch (...) {
}

void TraceFile::count(const char* name, std::int64_t at, std::int64_t value) noexcept try {
  std::lock_guard lock(mutex_);
  if (room()) {
    counters_.push_back({name, at, value});
  } else {
    ++left_out_;
  }
} catch (...) {
}

/// Microseconds since the start; the format's unit.
std::string TraceFile::stamp(std::int64_t at) const {
  std::int64_t ns = std::max<std::int64_t>(at - start_, 0);
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

/// Beginnings and ends in the order of time. Spans were added as they ended, so of two with one beginning the one added
/// later is the outer one.
void TraceFile::print_spans(TraceTrack track, std::string& out) {
  std::vector<TraceSpan>& spans = spans_[static_cast<std::size_t>(track)];
  std::vector<std::size_t> order(spans.size()), open;
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return spans[a].begin != spans[b].begin ? spans[a].begin < spans[b].begin : a > b;
  });
  std::string place = fmt::format(R"("pid": {}, "tid": {})", kProcess, thread_number(track));
  auto close = [&] {
    out += fmt::format(",\n{{\"ph\": \"E\", {}, \"ts\": {}}}", place, stamp(spans[open.back()].end));
    open.pop_back();
  };
  for (std::size_t i : order) {
    TraceSpan& span = spans[i];
    while (!open.empty() && spans[open.back()].end <= span.begin) close();
    if (!open.empty()) span.end = std::min(span.end, spans[open.back()].end);
    out += fmt::format(",\n{{\"ph\": \"B\", {}, \"ts\": {}, \"cat\": \"{}\", \"name\": {}", place, stamp(span.begin),
                       span.category, json_line(span.name));
    if (!span.args.is_null()) out += ", \"args\": " + json_line(span.args);
    out += "}";
    open.push_back(i);
  }
  while (!open.empty()) close();
}

std::string TraceFile::text(const Json& about) {
  std::lock_guard lock(mutex_);
  Json said = about;
  said["left_out"] = left_out_;
  std::string out =
      fmt::format("{{\"displayTimeUnit\": \"ms\", \"otherData\": {},\n\"traceEvents\": [\n", json_line(said));
  out += name_event("process_name", 0, "reprise") + ",\n";
  out += name_event("thread_name", thread_number(TraceTrack::step), "step") + ",\n";
  out += name_event("thread_name", thread_number(TraceTrack::loader), "loader");
  print_spans(TraceTrack::step, out);
  print_spans(TraceTrack::loader, out);
  for (const CounterValue& value : counters_) {
    out += fmt::format(",\n{{\"ph\": \"C\", \"pid\": {}, \"ts\": {}, \"name\": \"{}\", \"args\": {{\"bytes\": {}}}}}",
                       kProcess, stamp(value.at), value.name, value.value);
  }
  return out + "\n]}\n";
}

}  // namespace reprise
