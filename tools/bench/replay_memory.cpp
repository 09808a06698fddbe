// What replay saves of the values of the `resnet18` step: bytes alone, so a dry step tells them.
#include <algorithm>

#include "models/train/step_timeline.h"
#include "models/train/trace_step.h"
#include "tools/bench/replay_costs.h"
#include "tools/bench/step_run.h"

namespace reprise::bench {
namespace {

HighestBytes highest_bytes(const Config& config) {
  StepRecorder recorder;
  StepTimeline timeline;
  TraceOptions trace;
  trace.begin = [&](Tape& tape) { recorder.begin(tape); };
  trace.end = [&] { timeline = recorder.end(); };
  trace_step(config, trace);
  std::int64_t activations = timeline.before[static_cast<std::size_t>(Category::activations)];
  std::int64_t both = activations + timeline.before[static_cast<std::size_t>(Category::cotangents)];
  HighestBytes highest{activations, both};
  for (const MeterEvent& event : timeline.events) {
    if (event.category == Category::activations) activations += event.delta;
    if (event.category == Category::activations || event.category == Category::cotangents) both += event.delta;
    highest.activations = std::max(highest.activations, activations);
    highest.with_cotangents = std::max(highest.with_cotangents, both);
  }
  return highest;
}

Samples share(std::int64_t part, std::int64_t of) {
  Samples samples;
  samples.add(static_cast<double>(part) / static_cast<double>(of));
  return samples;
}

}  // namespace

HighestBytes resnet18_values(const BenchOptions& options, const std::string& method) {
  BenchOptions sized = options;
  sized.preset = "resnet18";
  Config config = step_config(sized, method, "blocks");
  config.set("threads", std::int64_t{options.threads}, "bench");  // else the dry step takes every core from here on
  return highest_bytes(config);
}

void add_value_bytes(const BenchOptions& options, Report& report) {
  HighestBytes retain = resnet18_values(options, "retain"), whole = resnet18_values(options, "whole");
  report.add({.what = "resnet18 step in blocks, whole / retain, highest activations",
              .unit = "x",
              .ours = share(whole.activations, retain.activations),
              .target = "0.40",
              .note = "bytes of a dry step"});
  report.add({.what = "the same, activations and cotangents together",
              .unit = "x",
              .ours = share(whole.with_cotangents, retain.with_cotangents),
              .target = "0.46",
              .note = "bytes of a dry step"});
}

}  // namespace reprise::bench
