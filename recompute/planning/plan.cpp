#include "recompute/planning/plan.h"

#include <algorithm>
#include <tuple>

#include "core/error.h"

namespace reprise {

double Plan::gap() const {
  return predicted_ns > 0 ? static_cast<double>(predicted_ns - lower_bound_ns) / static_cast<double>(predicted_ns)
                          : 0.0;
}

Assignment Plan::assignment() const {
  Assignment assignment;
  assignment.fallback = {ValueOption::retain, fallback};
  assignment.choices.resize(nodes);
  for (const PlannedSegment& segment : segments) {
    ValueOption values = segment.replay ? ValueOption::replay : ValueOption::retain;
    assignment.segments.push_back({values, fallback, segment.run, segment.run_ends});
    for (auto [node, result] : segment.kept) assignment.choices[node].kept_results |= Mask{1} << result;
  }
  for (const PlannedClass& state : classes) {
    NodeChoice& node = assignment.choices[state.node];
    (state.state == StateOption::whole ? node.whole_updates : node.region_updates) |= Mask{1} << state.update;
  }
  return assignment;
}

bool is_better(const Plan& a, const Plan& b) {
  auto replayed = [](const Plan& plan) {
    std::vector<std::uint8_t> all;
    for (const PlannedSegment& segment : plan.segments) all.push_back(segment.replay);
    return all;
  };
  std::vector<std::uint8_t> of_a = replayed(a), of_b = replayed(b);
  auto key = [](const Plan& plan, const std::vector<std::uint8_t>& all) {
    return std::tuple(plan.predicted_ns, plan.predicted_peak, std::count(all.begin(), all.end(), 1));
  };
  auto key_a = key(a, of_a), key_b = key(b, of_b);
  return key_a != key_b ? key_a < key_b : of_a < of_b;
}

void require_made_for(const Plan& plan, const PlanPrint& here, const std::string& origin) {
  std::string differs;
  auto compare = [&](const char* what, const std::string& then, const std::string& now) {
    if (then != now) differs += fmt::format("{}{} {} (here {})", differs.empty() ? "" : ", ", what, then, now);
  };
  compare("build", plan.made_for.build, here.build);
  compare("trace", plan.made_for.trace, here.trace);
  compare("contracts", plan.made_for.contracts, here.contracts);
  compare("threads", std::to_string(plan.made_for.threads), std::to_string(here.threads));
  compare("micro-batches", std::to_string(plan.made_for.micro_batches), std::to_string(here.micro_batches));
  compare("optimiser", plan.made_for.optimiser, here.optimiser);
  compare("bytes held before the step:", plan.made_for.held, here.held);
  if (differs.empty()) return;
  fail(ErrorKind::user,
       "[plan] expected a plan for this step, got {} which was made for {}. Make it anew with `reprise plan`.", origin,
       differs);
}

}  // namespace reprise
