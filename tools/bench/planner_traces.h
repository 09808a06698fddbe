// Public traces and profiled graphs as one plain form, and that form as an instance of the planning problem.
//
// Called by `reprise bench planner --instances`. Forward operators are grouped into segments of consecutive ones; rows
// are the operators in their order. Invariant: with everything retained the rows are the live bytes of the trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "recompute/solver/instance.h"

namespace reprise::bench {

/// A storage at the version that an operator sees.
struct TraceValue {
  std::int32_t storage = 0, version = 0;
};

struct TraceOp {
  std::int64_t time_ns = 0;
  bool backward = false, constant = false;
  std::vector<TraceValue> reads, writes;  // writes: in place, with the new version
  std::vector<std::int32_t> made, freed;  // freed: after the operator
  std::int64_t own_bytes = 0;             // workspace, and what is held besides storages
};

struct Trace {
  std::string name;
  std::vector<std::int64_t> bytes;  // per storage
  std::vector<TraceOp> ops;
  bool marked = false;  // says itself where its backward begins
};

/// Errors (user): not such a file; an index, a size or a time in it that cannot be, with its place.
Trace read_dtr_trace(const std::filesystem::path& path);
Trace read_monet_graph(const std::filesystem::path& path);

/// The trace with its forward in at most `segments` segments. Errors (user): it has no backward.
solver::Instance instance_of(const Trace& trace, int segments);

}  // namespace reprise::bench
