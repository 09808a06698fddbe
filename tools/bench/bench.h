// The benches behind `reprise bench`: each measures ours, says the machine's limit where one is known, and with a peer
// takes turns with it, one round ours and one round the peer's process.
//
// Nothing here decides anything in the library: figures are for people and for the README.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/config/config.h"
#include "tools/bench/child.h"
#include "tools/bench/report.h"

namespace reprise::bench {

struct BenchOptions {
  int threads = 1;
  int rounds = 0;  // 0: the bench's own default
  std::string preset = "small";
  std::int64_t batch = 0;  // 0: the preset's
  bool quick = false;      // everything small and few rounds: for tests, the figures mean nothing
  bool compiled = false;   // bench_step: the peer's compiled step too, which compiles anew in every round
  Peer peer;
  std::string instances;  // folder of public instances for the planner

  /// `usual`, or what was asked for; few when quick.
  int rounds_or(int usual) const { return rounds > 0 ? rounds : quick ? 2 : usual; }
  std::int64_t batch_or_preset() const { return batch > 0 ? batch : quick ? 4 : preset == "small" ? 128 : 64; }
};

Report bench_ops(const BenchOptions& options);
Report bench_step(const BenchOptions& options);
Report bench_replay(const BenchOptions& options);
Report bench_optim(const BenchOptions& options);
Report bench_loader(const BenchOptions& options);
Report bench_startup(const BenchOptions& options);
Report bench_planner(const BenchOptions& options);

/// Run in a fresh process for bench_step: the memory of a few steps under `method`, as one line of JSON.
Json step_memory(const BenchOptions& options, const std::string& method);
/// Run in a fresh process for bench_planner: one synthetic case, "local 10000 joint", as one line of JSON.
Json planner_case(const std::string& what);
/// Run in a fresh process for bench_startup: the first step of a small classifier, as in the peer's startup.py.
void first_step();

/// Machine, threads, rounds and the measured limits, as header lines.
std::vector<std::string> header_of(const BenchOptions& options, int rounds, const Limits* limits);

}  // namespace reprise::bench
