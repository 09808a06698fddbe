// The public instances behind `reprise bench planner --instances`.
// Called by bench_planner alone; they are read, never shipped.
#pragma once

#include "tools/bench/bench.h"

namespace reprise::bench {

/// Errors (user): the folder has neither dtr/*.ops.json.gz nor monet/*.json.gz.
Report bench_public_instances(const BenchOptions& options);

}  // namespace reprise::bench
