// Explain: what each segment of a step keeps (and for whom), replays, owes and has preserved, in bytes, and the peak of
// the step by category: as a table for people and as JSON. Made from contracts, so it says nothing that was not
// recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/meter.h"
#include "recompute/contract.h"

namespace reprise {

struct ExplainInput {
  std::string title;                       // "dense_queue, batch 128, method region"
  std::vector<ContractSet> micro_batches;  // as each stood before its backward
  MeterSnapshot before;                    // the step
  MeterSnapshot step;                      // its peaks
  std::int64_t budget = 0;                 // bytes; 0 is none
};

/// The figures of one segment. Bytes as charged.
struct SegmentFigures {
  std::int64_t nodes = 0, replayed = 0;  // nodes of a replayed segment that are not replayed fall away
  std::int64_t kept_formula = 0, kept_replay = 0, kept_decision = 0, kept_handle = 0;  // by KeptValue::holder()
  std::int64_t reads = 0;                                                              // obligations
  std::int64_t preserved = 0;  // of all objects that it owes; shared ones count for each
  std::int64_t kept() const { return kept_formula + kept_replay + kept_decision + kept_handle; }
};
SegmentFigures figures_of(const ReplayContract& contract, const std::vector<PreservedObject>& preserved);

/// Sums over a micro-batch; preserved objects count once.
SegmentFigures totals_of(const ContractSet& set);

struct ExplainOptions {
  bool all_reads = false;  // else reads of storages that nobody has written in this step are counted, not listed
};

std::string explain_text(const ExplainInput& input, const ExplainOptions& options = {});
/// Schema "reprise-explain/1": {format, title, micro_batches: [{segments, preserved, totals}], peak}. Names as in
/// contracts.
std::string explain_json(const ExplainInput& input);

}  // namespace reprise
