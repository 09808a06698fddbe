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
constexpr const char* kPeerScript = "cifar_step.py";

struct Figures {
  Samples wall, cpu;          // ms
  Samples high_water, meter;  // MiB
};

/// The peer's step by each mode of its script that is measured; `compiled` where it was asked for.
struct PeerFigures {
  Figures plain, replayed, compiled;
  Samples first_step;  // s, of `compiled`
};

/// What makes the C library give freed blocks back at once: else the peer's high-water mark counts blocks that its
/// program no longer holds.
const std::vector<std::string> kFreedAtOnce = {"MALLOC_MMAP_THRESHOLD_=65536", "MALLOC_TRIM_THRESHOLD_=0",
                                               "MALLOC_TOP_PAD_=0"};

/// Loads what a first use of the library loads, so that it is not charged to the model.
void wake() {
  Memory memory;
  Tape tape(memory);
  Tensor x = make_tensor(memory.allocator(), memory.observer(), DType::f32, {1, 8, 8, 3}, Category::data, true);
  LeafRef weight = Leaf::create(
      "w", make_tensor(memory.allocator(), memory.observer(), DType::f32, {4, 3, 3, 3}, Category::parameters, true));
  tape.backward(sum(tape, conv2d(tape, x, weight)));
}

Json own_memory(const BenchOptions& options, const std::string& name) {
  std::vector<std::string> words = step_words(options);
  words.insert(words.begin(), {"bench", "step", "--memory-of", name});
  return last_json_line(run_self(words), "bench step");
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
    Json memory = own_memory(options, name);
    figures.high_water.add(memory["rss_peak_minus_before_mib"].get<double>());
    figures.meter.add(memory["live_peak_mib"].get<double>());
  }
}

double peer_high_water(const BenchOptions& options, const char* mode) {
  std::vector<std::string> words = step_words(options);
  words.insert(words.end(), {"--memory-of", mode});
  return number_at(options.peer.run(kPeerScript, words, kFreedAtOnce), kPeerScript, {"rss_peak_minus_before_mib"});
}

/// One round of the peer: its steps in one process, its memory in another.
void peer_step_round(const BenchOptions& options, PeerFigures& peer) {
  std::vector<std::string> words = step_words(options);
  words.insert(words.end(),
               {"--modes", options.compiled ? "cl,cl_ckpt,compile" : "cl,cl_ckpt", "--rounds", "3", "--no-memory"});
  Json printed = options.peer.run(kPeerScript, words);
  auto add = [&](Figures& figures, const char* mode) {
    const Json& found = item_at(printed, kPeerScript, {"modes", mode});
    if (!found.contains("step_ms"))
      fail(ErrorKind::user, "[bench] the peer could not run its mode {}: {}", mode, found.dump());
    figures.wall.add(number_at(found, kPeerScript, {"step_ms"}));
    figures.cpu.add(number_at(found, kPeerScript, {"cpu_ms"}));
  };
  add(peer.plain, "cl");
  add(peer.replayed, "cl_ckpt");
  if (options.compiled) {
    add(peer.compiled, "compile");
    peer.first_step.add(number_at(printed, kPeerScript, {"modes", "compile", "first_step_s"}));
  }
  if (peer.plain.high_water.size() == 3) return;
  peer.plain.high_water.add(peer_high_water(options, "cl"));
  peer.replayed.high_water.add(peer_high_water(options, "cl_ckpt"));
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

void add_all_rows(const BenchOptions& options, Report& report, const Figures& plain, const Figures& replayed,
                  const PeerFigures& peer) {
  bool small = options.preset == "small", avx512 = this_machine().isa == "avx512";
  std::string time =
      small ? (avx512 ? "0.65 of channels-last" : "0.80 of channels-last") : "0.55 of channels-last (AVX-512)";
  add_rows(report, "without recompute", plain, peer.plain, time, small ? "0.80 of the peer" : "");
  if (options.compiled) {
    report.add({.what = "without recompute, wall, beside the compiled peer",
                .unit = "ms",
                .ours = plain.wall,
                .peer = peer.compiled.wall,
                .target = small ? "0.85 of compiled" : "",
                .note = fmt::format("its first step takes {:.1f} s", peer.first_step.median())});
  }
  add_rows(report, "every residual block replayed", replayed, peer.replayed, "", "");
  report.add({.what = "replayed / without, CPU",
              .unit = "x",
              .ours = ratios(replayed.cpu, plain.cpu),
              .peer = ratios(peer.replayed.cpu, peer.plain.cpu),
              .target = small ? "1.20" : ""});
  report.add({.what = "replayed / without, live peak",
              .unit = "x",
              .ours = ratios(replayed.meter, plain.meter),
              .peer = ratios(peer.replayed.high_water, peer.plain.high_water),
              .target = small ? "0.60" : "",
              .note = options.peer.asked() ? "the peer's by its high-water marks" : ""});
  if (options.peer.asked())
    report.remark("The peer's memory is taken with freed blocks returned at once (malloc told to map and trim).");
}

}  // namespace

Json step_memory(const BenchOptions& options, const std::string& method) {
  wake();
  bool plain = method == "plain";
  std::string segments = plain ? "none" : residual_blocks(options);
  double before = status_mib("VmRSS");
  reset_high_water();
  StepRun run(step_config(options, plain ? "retain" : method, segments), true);
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
  if (options.compiled && !options.peer.asked())
    fail(ErrorKind::user, "[bench] expected --peer beside --compiled, which asks for the peer's compiled step");
  int rounds = options.rounds_or(10);
  Report report(fmt::format("step: dense queue, preset {}, batch {}", options.preset, options.batch_or_preset()),
                header_of(options, rounds, nullptr));
  StepRun plain(step_config(options, "retain", "none"));
  StepRun replayed(step_config(options, "whole", residual_blocks(options)));
  plain.step();
  replayed.step();
  Figures ours_plain, ours_replayed;
  PeerFigures peer;
  int steps = options.quick ? 1 : 3;
  for (int i = 0; i < rounds; ++i) {
    one_round(options, "plain", plain, ours_plain, steps);
    one_round(options, "whole", replayed, ours_replayed, steps);
    if (options.peer.asked()) peer_step_round(options, peer);
  }
  add_all_rows(options, report, ours_plain, ours_replayed, peer);
  return report;
}

}  // namespace reprise::bench
