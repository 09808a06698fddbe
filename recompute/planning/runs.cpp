#include "recompute/planning/runs.h"

namespace reprise {

std::vector<RunOfSegments> cut_into_runs(const Units& units, const StepRows& rows, std::uint32_t length) {
  std::vector<RunOfSegments> runs;
  bool open = false;  // the last run may take another segment
  for (std::uint32_t u = 0; u < units.size(); ++u) {
    const Unit& unit = units[u];
    if (unit.segment == kNone) {
      open = false;
    } else if (open && rows.joined(u) && runs.back().last - runs.back().first + 1 < length) {
      runs.back().last = unit.segment;
    } else {
      runs.push_back({unit.segment, unit.segment});
      open = true;
    }
  }
  std::erase_if(runs, [](const RunOfSegments& run) { return run.first == run.last; });
  return runs;
}

std::vector<RunOfSegments> runs_of(const Plan& plan) {
  std::vector<RunOfSegments> runs;
  bool open = false;
  for (std::uint32_t s = 0; s < plan.segments.size(); ++s) {
    if (plan.segments[s].run == 0) continue;  // a segment without nodes may stand between two of a run
    if (!open) runs.push_back({s, s});
    runs.back().last = s;
    open = !plan.segments[s].run_ends;
  }
  return runs;
}

PlanSpace with_runs(PlanSpace space, const std::vector<RunOfSegments>& runs) {
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (std::uint32_t s = runs[r].first; s <= runs[r].last; ++s) {
      bool ends = s == runs[r].last;
      space[s] = {{ends ? "replay, ends a run" : "replay in a run",
                   ValueOption::replay,
                   {},
                   static_cast<std::uint32_t>(r + 1),
                   ends}};
    }
  }
  return space;
}

}  // namespace reprise
