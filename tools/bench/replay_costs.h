// The pieces of bench_replay: each takes the rounds and adds its rows to the report. Called by bench_replay.cpp.
// Rounds interleave what is compared, so that a slow moment hits both sides.
#pragma once

#include <cstdint>
#include <string>

#include "tools/bench/bench.h"

namespace reprise::bench {

/// What one thing of the contract costs, in ns; used to say what share of a step the contracts are.
struct ContractCosts {
  double node = 0, announcement = 0, obligation = 0;
};

/// Announcements, obligations and records on one storage (replay_records.cpp).
void add_record_costs(const BenchOptions& options, Report& report, ContractCosts& costs);
/// Chains of tiny ops, plain and in replayed segments; sets costs.node (replay_steps.cpp).
void add_chain_costs(const BenchOptions& options, Report& report, ContractCosts& costs);
/// The `small` step: segments marked, replayed, its contracts counted (replay_steps.cpp).
void add_step_costs(const BenchOptions& options, Report& report, const ContractCosts& costs);

/// The most that a step holds at once, in bytes.
struct HighestBytes {
  std::int64_t activations = 0, with_cotangents = 0;
};

/// Of the `resnet18` step with its blocks marked, under a fixed method, by a dry step (replay_memory.cpp).
HighestBytes resnet18_values(const BenchOptions& options, const std::string& method);
/// What `whole` holds of them beside `retain`.
void add_value_bytes(const BenchOptions& options, Report& report);

}  // namespace reprise::bench
