#include <fmt/format.h>

#include "tools/bench/bench.h"

namespace reprise::bench {

std::vector<std::string> header_of(const BenchOptions& options, int rounds, const Limits* limits) {
  Machine machine = this_machine();
  std::vector<std::string> lines = {fmt::format("{}, {} cores, {}; {} thread{}; {} rounds, medians", machine.cpu,
                                                machine.cores, machine.isa, options.threads,
                                                options.threads == 1 ? "" : "s", rounds)};
  if (limits) {
    lines.push_back(fmt::format(
        "limits in this sitting: {:.1f} GFLOP/s (matrix product), {:.1f} GB/s (copy), {:.1f} (triad), {:.1f} (update)",
        limits->flops / 1e9, limits->copy_bytes / 1e9, limits->triad_bytes / 1e9, limits->update_bytes / 1e9));
  }
  if (options.quick) lines.push_back("quick: tiny sizes and few rounds, the figures mean nothing");
  lines.push_back(options.peer.asked() ? "taking turns with the peer's scripts, one round each"
                                       : "no peer asked for (--peer PYTHON)");
  return lines;
}

}  // namespace reprise::bench
