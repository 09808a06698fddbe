// Whole steps of the dense-queue model, without recompute and with every residual block replayed: time, processor time,
// memory.
#include <fmt/format.h>

#include "core/error.h"
#include "ops/conv2d.h"
#include "ops/reduce.h"
#include "tools/bench/bench.h"
#include "tools/bench/step_run.h"

namespace reprise::bench {
namespace {

constexpr double kMib = 1024.0 * 1024.0;

struct Figures {
  Samples wall, cpu;          // ms
  Samples high_water, meter;  // MiB
};

/// Loads what a first use of the library loads, so that it is not charged to the model.
void wake() {
  Memory memory;
  Tape tape(memory);
  Tensor x = make_tensor(memory.allocator(), memory.observer(), DType::f32, {1, 8, 8, 3}, Category::data, true);
  LeafRef weight = Leaf::create(
      "w", make_tensor(memory.allocator(), memory.observer(), DType::f32, {4, 3, 3, 3}, Category::parameters, true));
  tape.backward(sum(tape, conv2d(tape, x, weight)));
}

std::vector<std::string> memory_words(const BenchOptions& options, const std::string& name) {
  return {"bench",       "step",
          "--memory-of", name,
          "--preset",    options.preset,
          "--threads",   fmt::format("{}", options.threads),
          "--batch",     fmt::format("{}", options.batch_or_preset())};
}

void one_round(const BenchOptions& options, const std::string& name, StepRun& run, Figures& figures, int steps) {
  Samples wall, cpu;
  for (int i = 0; i < steps; ++i) {
    Elapsed elapsed = timed([&] { run.step(); });
    wall.add(1e3 * elapsed.wall);
    cpu.add(1e3 * elapsed.cpu);
  }
  figures.wall.add(wall.median());
  figures.cpu.add(cpu.median());
  if (figures.high_water.size() < 3) {  // these hardly vary, and each is a process
    Json memory = last_json_line(run_self(memory_words(options, name)), "bench step");
    figures.high_water.add(memory["rss_peak_minus_before_mib"].get<double>());
    figures.meter.add(memory["live_peak_mib"].get<double>());
  }
}

/// One round of the peer: its steps in one process, its memory in another.
void peer_round(const BenchOptions& options, Figures& plain, Figures& replayed) {
  std::vector<std::string> common = {"--preset",  options.preset,
                                     "--batch",   fmt::format("{}", options.batch_or_preset()),
                                     "--threads", fmt::format("{}", options.threads)};
  std::vector<std::string> words = common;
  words.insert(words.end(), {"--modes", "cl,cl_ckpt", "--rounds", "3", "--no-memory"});
  Json modes = options.peer.run("cifar_step.py", words)["modes"];
  bool first = plain.high_water.size() < 3;
  for (auto [figures, mode] : {std::pair{&plain, "cl"}, std::pair{&replayed, "cl_ckpt"}}) {
    const Json& found = modes[mode];
    if (!found.contains("step_ms"))
      fail(ErrorKind::user, "[bench] the peer could not run its mode {}: {}", mode, found.dump());
    figures->wall.add(found["step_ms"].get<double>());
    figures->cpu.add(found["cpu_ms"].get<double>());
    if (!first) continue;
    std::vector<std::string> of = common;
    of.insert(of.end(), {"--memory-of", mode});
    figures->high_water.add(options.peer.run("cifar_step.py", of)["rss_peak_minus_before_mib"].get<double>());
  }
}

void add_rows(Report& report, const std::string& name, const Figures& ours, const Figures& peer,
              const std::string& time_target, const std::string& memory_target) {
  report.add({.what = name + ", wall", .unit = "ms", .ours = ours.wall, .peer = peer.wall, .target = time_target});
  report.add({.what = name + ", CPU", .unit = "ms", .ours = ours.cpu, .peer = peer.cpu});
  report.add({.what = name + ", high-water mark",
              .unit = "MiB",
              .ours = ours.high_water,
              .peer = peer.high_water,
              .target = memory_target,
              .note = "by the kernel, less what was there before the model"});
  report.add({.what = name + ", live peak", .unit = "MiB", .ours = ours.meter, .note = "by the meter"});
}

}  // namespace

Json step_memory(const BenchOptions& options, const std::string& method) {
  wake();
  bool plain = method == "plain";
  std::string segments = plain ? "none" : residual_blocks(options);
  double before = status_mib("VmRSS");
  reset_high_water();
  StepRun run(step_config(options, plain ? "retain" : method, segments));
  double built = status_mib("VmRSS");
  run.step();
  double live = static_cast<double>(run.peak_of_a_step()) / kMib;
  double peak = status_mib("VmHWM");
  return {{"method", method},       {"rss_before_mib", before},
          {"rss_built_mib", built}, {"rss_peak_minus_before_mib", peak - before},
          {"live_peak_mib", live},  {"arena_mib", static_cast<double>(run.memory().arena()->extent_bytes()) / kMib}};
}

Report bench_step(const BenchOptions& options) {
  if (options.peer.asked()) options.peer.require("cifar_step.py");
  int rounds = options.rounds_or(10);
  Report report(fmt::format("step: dense queue, preset {}, batch {}", options.preset, options.batch_or_preset()),
                header_of(options, rounds, nullptr));
  StepRun plain(step_config(options, "retain", "none"));
  StepRun replayed(step_config(options, "whole", residual_blocks(options)));
  plain.step();
  replayed.step();
  Figures ours_plain, ours_replayed, peer_plain, peer_replayed;
  int steps = options.quick ? 1 : 3;
  for (int i = 0; i < rounds; ++i) {
    one_round(options, "plain", plain, ours_plain, steps);
    one_round(options, "whole", replayed, ours_replayed, steps);
    if (options.peer.asked()) peer_round(options, peer_plain, peer_replayed);
  }
  bool small = options.preset == "small";
  bool avx512 = this_machine().isa == "avx512";
  std::string time =
      small ? (avx512 ? "0.65 of channels-last" : "0.80 of channels-last") : "0.55 of channels-last (AVX-512)";
  add_rows(report, "without recompute", ours_plain, peer_plain, time, small ? "0.80 of the peer" : "");
  add_rows(report, "every residual block replayed", ours_replayed, peer_replayed, "", "");
  report.add({.what = "replayed / without, CPU",
              .unit = "x",
              .ours = ratios(ours_replayed.cpu, ours_plain.cpu),
              .peer = ratios(peer_replayed.cpu, peer_plain.cpu),
              .target = small ? "1.20" : ""});
  report.add({.what = "replayed / without, live peak",
              .unit = "x",
              .ours = ratios(ours_replayed.meter, ours_plain.meter),
              .target = small ? "0.60" : ""});
  return report;
}

}  // namespace reprise::bench
