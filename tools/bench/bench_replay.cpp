// What state-safe replay costs, from one announcement to a whole step.
#include "tools/bench/replay_costs.h"

namespace reprise::bench {

Report bench_replay(const BenchOptions& options) {
  if (options.peer.asked()) {
    options.peer.require("overhead.py");
    options.peer.require("cifar_step.py");
  }
  int rounds = options.rounds_or(30);
  Report report("replay: what contracts and recomputation cost", header_of(options, rounds, nullptr));
  ContractCosts costs;
  add_record_costs(options, report, costs);
  add_chain_costs(options, report, costs);
  add_step_costs(options, report, costs);
  add_value_bytes(options, report);
  report.remark(
      "Ratios are of processor time, taken pair by pair in turns; the upper limit is that of the median, whatever the "
      "distribution.");
  if (options.peer.asked())
    report.remark("The peer's ratios are of its own checkpoint: the same chain, and its channels-last step by block.");
  return report;
}

}  // namespace reprise::bench
